# SPDX-License-Identifier: Apache-2.0
"""`lexfed check`: every problem of a configuration and of its data at once."""

from lexfed.cli import talk
from lexfed.cli.options import DEFAULT, AsJson, ConfigFile
from lexfed.cli.output import print_json
from lexfed.errors import ConfigError, LexfedError, Problem


def check(config: ConfigFile = DEFAULT, as_json: AsJson = False) -> None:
    """List every problem of a configuration and its data.

    Nothing is spent.
    """
    from lexfed.cli.inputs import load_priced, with_suggestions
    from lexfed.config import examine_file

    found = examine_file(config)
    problems: list[Problem] = list(with_suggestions(config, found.problems))
    for note in found.notes:
        talk.warn(str(note), note.hint)
    if found.config is not None:
        try:
            load_priced(config, found.config)
        except LexfedError as error:
            listed = getattr(error, "problems", None)
            plain = (Problem(str(config), error.message, error.hint),)
            problems += listed or plain
    if problems:
        raise ConfigError(problems)
    if as_json:
        print_json({"problems": []})
    talk.say(f"{config}: no problems; `lexfed plan {config}` prices the run")
