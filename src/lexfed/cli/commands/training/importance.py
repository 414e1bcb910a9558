# SPDX-License-Identifier: Apache-2.0
"""`lexfed importance`: buy importances of columns, and say what they are and cost."""

from pathlib import Path

from lexfed.cli import talk
from lexfed.cli.display import runs
from lexfed.cli.inputs import load_config, print_json
from lexfed.cli.problem_lines import located_errors
from lexfed.run import folder_of
from lexfed.run.intake.column_importance import PAID, importance_of
from lexfed.run.purchases.importance_purchase import buy_importance, priced_importance


def importance(
    path: Path, epsilon: float, out: Path | None, resume: bool, as_json: bool
) -> None:
    """Release importances, and print them."""
    config = load_config(path)
    run = folder_of(path, config)
    folder = run.with_name(f"{run.name}-importance") if out is None else out
    with located_errors(path):
        priced = priced_importance(config, path.parent, epsilon)
        talk.say("\n".join(runs.opening(priced)))
        result = buy_importance(path, epsilon, folder, resume=resume)
    source = PAID + str(folder.resolve())
    bought = config.model_copy(
        update={"budget": config.budget.model_copy(update={"importance_from": source})}
    )
    found = importance_of(bought, path.parent, priced.population.encoding)
    if as_json:
        print_json({"folder": str(result.folder), "importance": found.values})
    else:
        rows = sorted(found.values.items(), key=lambda item: -item[1])
        print("\n".join(f"{value:8.3f}  {name}" for name, value in rows))
    if result.lost:
        talk.say(
            f"{result.lost} round(s) were lost when the run was interrupted, and stay "
            "paid: columns of a tier whose round was lost count 1"
        )
    talk.say(
        f'Released once; use it with `importance_from = "paid:{folder}"` under '
        "`[budget]`: the run then has the rest of the budget"
    )
