# SPDX-License-Identifier: Apache-2.0
"""The commands as functions: `lexfed.plan`, `lexfed.train`, `lexfed.predict`.

    import lexfed

    lexfed.plan("lexfed.toml")["claims"]           # what it would cost; spends nothing
    result = lexfed.train("lexfed.toml")           # resume=True continues
    result.metrics, result.claim
    lexfed.predict(result.folder, "new.csv", tiers="personal").values

Paths in a configuration are relative to its folder, as on the command line.
"""

from pathlib import Path
from typing import Any

from lexfed.config import Config, load
from lexfed.config.examination import config_text
from lexfed.errors import ConfigError, Problem
from lexfed.run.driver.open_run import finished_result, start
from lexfed.run.driver.open_run import resume as reopen
from lexfed.run.driver.training_loop import OnRound
from lexfed.run.driver.training_loop import train as run_rounds
from lexfed.run.intake.population import load_population, read_coins
from lexfed.run.pricing.priced_run import PricedRun, price
from lexfed.run.results import prediction
from lexfed.run.results.outlook import plan_with_outlook
from lexfed.run.results.prediction import Predictions
from lexfed.run.results.run_result import RunResult
from lexfed.tiers import MODEL_TIERS, Tier


def priced_file(
    path: Path, config: Config, rounds: int | None = None, *, resume: bool = False
) -> PricedRun:
    """Read the data of a configuration file and price its run; nothing is spent.

    `rounds` replaces the configuration's. With `resume` every person gets the place
    that the run in its folder gave.
    """
    coins = read_coins(folder_of(path, config), config) if resume else None
    if rounds is not None:
        federation = config.federation.model_copy(update={"rounds": rounds})
        config = config.model_copy(update={"federation": federation})
    population = load_population(config, path.parent, coins)
    return price(config, population, path.parent)


def require_here(config: Config) -> None:
    """Refuse a run whose sites are other organisations, and say how it is started."""
    if config.federation.engine == "flare":
        what = "`flare` runs between organisations, and not in this process"
        hint = (
            "start it with `lexfed deploy run`, see docs/guide/deployment.md; to try "
            'it here set `engine = "inprocess"`'
        )
        raise ConfigError([Problem("`federation.engine`", what, hint)])


def folder_of(path: Path, config: Config) -> Path:
    """Return the run folder of a configuration file."""
    return path.parent / config.run.folder


def plan(path: Path | str, rounds: int | None = None) -> dict[str, Any]:
    """Return what a run would release and cost, as `lexfed plan --json` prints it.

    Raises:
        ConfigError, DataError: with every problem.
        Refused: if the run exceeds a budget.
    """
    priced = priced_file(Path(path), load(path), rounds)
    priced.ledger()
    return plan_with_outlook(priced)


def train(
    path: Path | str, *, resume: bool = False, on_round: OnRound | None = None
) -> RunResult:
    """Train under the budgets of a configuration file, or continue a training.

    With `resume` the run in its folder goes on; a finished one is returned as it is.
    `on_round` is called after every round.

    Raises:
        ConfigError, DataError: with every problem; nothing was written or spent.
        RunFolderError: if the run folder cannot be used.
        Refused: if not a single round could be paid for.
    """
    path = Path(path)
    config, text = load(path), config_text(path)
    require_here(config)
    out = folder_of(path, config)
    if resume and (result := finished_result(config, out)) is not None:
        return result
    priced = priced_file(path, config, resume=resume)
    opened = (reopen if resume else start)(priced, out, text, path.parent)
    return run_rounds(priced, opened, on_round)


def predict(
    folder: Path | str, table: Path | str, tiers: Tier | str = Tier.SPECIAL
) -> Predictions:
    """Score the rows of a file, reading no column above a tier.

    Raises:
        ConfigError: if there is no such tier, or no model may read it.
        RunFolderError: if the folder holds no finished run.
        DataError: if the table does not match the schema.
    """
    return prediction.predict(Path(folder), Path(table), _tier(tiers))


def _tier(tiers: Tier | str) -> Tier:
    hint = "choose one of " + ", ".join(f"`{tier.label}`" for tier in MODEL_TIERS)
    try:
        upto = tiers if isinstance(tiers, Tier) else Tier.parse(tiers)
    except ValueError as error:
        problem = Problem("`tiers`", f"unknown tier `{tiers}`", hint)
        raise ConfigError([problem]) from error
    if upto not in MODEL_TIERS:
        what = "identifiers are never used by a model"
        raise ConfigError([Problem("`tiers`", what, hint)])
    return upto
