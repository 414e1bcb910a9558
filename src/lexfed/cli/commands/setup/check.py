# SPDX-License-Identifier: Apache-2.0
"""`lexfed check`: every problem of a configuration and of its data at once."""

import shlex

from lexfed.cli import talk
from lexfed.cli.options import DEFAULT, AsJson, ConfigFile, SetOption
from lexfed.cli.output import print_json
from lexfed.errors import ConfigError, LexfedError, Problem


def check(
    config: ConfigFile = DEFAULT, settings: SetOption = None, as_json: AsJson = False
) -> None:
    """List every problem of a configuration and its data.

    Nothing is spent.
    """
    from lexfed.cli.inputs import load_priced, with_suggestions
    from lexfed.config.overrides import examine_overridden, run_overrides
    from lexfed.run.driver.site_accounts import require_room

    overrides = run_overrides(settings or ())
    found = examine_overridden(config, overrides)
    problems: list[Problem] = list(with_suggestions(config, found.problems))
    for note in found.notes:
        talk.warn(str(note), note.hint)
    if found.config is not None:
        try:
            priced = load_priced(config, found.config, overrides=overrides)
            require_room(priced, config.parent)
        except LexfedError as error:
            listed = getattr(error, "problems", None)
            plain = (Problem(str(config), error.message, error.hint),)
            problems += listed or plain
    if problems:
        raise ConfigError(problems)
    if as_json:
        print_json({"problems": []})
    words = [word for override in overrides for word in override.words]
    command = shlex.join(["lexfed", "plan", str(config), *words])
    talk.say(f"{config}: no problems; `{command}` prices the run")
