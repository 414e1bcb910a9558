# SPDX-License-Identifier: Apache-2.0
"""`lexfed importance`: buy importances of columns, and say what they are and cost."""

from typing import Annotated

from typer import Option

from lexfed.cli import talk
from lexfed.cli.options import DEFAULT, AsJson, ConfigFile, OutFolderOption
from lexfed.cli.output import print_json
from lexfed.counted_words import counted


def importance(
    config: ConfigFile = DEFAULT,
    epsilon: Annotated[
        float,
        Option(metavar="E", help="What it may cost a record; part of the budget."),
    ] = 0.1,
    out: OutFolderOption = None,
    resume: Annotated[
        bool, Option("--resume", help="Continue an interrupted release.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Buy the importances of columns, once, from the budget."""
    from lexfed.cli import display
    from lexfed.cli.inputs import load_config, located_errors
    from lexfed.run import folder_of
    from lexfed.run.intake.column_importance import PAID, importance_of
    from lexfed.run.purchases.importance_purchase import (
        EXPECTED,
        buy_importance,
        largest_signal,
        priced_importance,
    )

    found = load_config(config)
    run = folder_of(config, found)
    folder = run.with_name(f"{run.name}-importance") if out is None else out
    with located_errors(config):
        priced = priced_importance(found, config.parent, epsilon)
        talk.say("\n".join(display.opening(priced)))
        if EXPECTED * largest_signal(priced) < 1.0:
            talk.warn(
                "noise is expected to decide the order of importances: a column with "
                "an ordinary signal would not be told from zero",
                "the order may end as `undecided`, and what it costs stays paid; a "
                "larger `--epsilon` shows more",
            )
        result = buy_importance(config, epsilon, folder, resume=resume)
    source = PAID + str(folder.resolve())
    bought = found.model_copy(
        update={"budget": found.budget.model_copy(update={"importance_from": source})}
    )
    values = importance_of(bought, config.parent, priced.population.encoding)
    ranking = values.ranking
    if as_json:
        known = {} if ranking is None else ranking.to_json()
        print_json({"folder": str(result.folder), "importance": values.values, **known})
    else:
        print("\n".join(display.importance_table(values)))
    if ranking is not None:
        talk.say(f"{ranking}; intervals hold together in 95 %, of the noise alone")
    if result.lost:
        talk.say(
            f"{counted(result.lost, 'round')} lost when the run was interrupted; they "
            "stay paid: columns of a tier whose round was lost count 1"
        )
    talk.say(
        f'Released once; use it with `importance_from = "paid:{folder}"` under '
        "`[budget]`: the run then has the rest of the budget"
    )
