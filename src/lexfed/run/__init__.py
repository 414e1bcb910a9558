# SPDX-License-Identifier: Apache-2.0
"""One run, from configuration to claim. Read this first.

    population = load_population(config, base)      # tagged, capped, encoded, split
    priced     = price(config, population)          # nothing spent yet
    opened     = start(priced, path, config_text)   # or resume(...): folder and log
    result     = train(priced, opened)              # charge, ask, noise, log, release

Every round is charged on disk before anybody computes, is in the audit log before its
release is the state, and exists once it is. Everything else follows from that order.

The rooms, in the order of the four lines above; each imports only those before it:

    folder         the files of a run, and when each of them is whole
    earlier_runs   models, profiles and costs of finished runs that this one uses
    intake         population: persons, sites, columns, and their public facts
    pricing        priced run: programme, budget and claim, before anything is spent
    audit_log      entries of the run in its log, receipts of sites, keys
    resumption     an interrupted run: is its folder whole, and where does it go on
    results        metrics, notes, the result, predictions
    driver         the rounds themselves; start with `driver.training_loop`

`purchases` (profiles, importances), `tuning` (searches) and `joining` (people that two
organisations share) use these rooms, `deployed` runs them between organisations, and
`api` finds data and folder of a configuration. `lexfed.python` has the four lines as
one call.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lexfed.run.api import folder_of, priced_file
    from lexfed.run.driver.open_run import OpenRun, finished_result, resume, start
    from lexfed.run.driver.training_loop import RoundReport, train, train_part
    from lexfed.run.intake.population import (
        Population,
        load_population,
        seeded_population,
    )
    from lexfed.run.pricing.priced_run import PricedRun, price
    from lexfed.run.results.notes import notes_of
    from lexfed.run.results.run_result import RunResult, read_result

__all__ = [
    "OpenRun",
    "Population",
    "PricedRun",
    "RoundReport",
    "RunResult",
    "finished_result",
    "folder_of",
    "load_population",
    "notes_of",
    "price",
    "priced_file",
    "read_result",
    "resume",
    "seeded_population",
    "start",
    "train",
    "train_part",
]

_HOMES = {
    "OpenRun": "driver.open_run",
    "Population": "intake.population",
    "PricedRun": "pricing.priced_run",
    "RoundReport": "driver.training_loop",
    "RunResult": "results.run_result",
    "finished_result": "driver.open_run",
    "folder_of": "api",
    "load_population": "intake.population",
    "notes_of": "results.notes",
    "price": "pricing.priced_run",
    "priced_file": "api",
    "read_result": "results.run_result",
    "resume": "driver.open_run",
    "seeded_population": "intake.population",
    "start": "driver.open_run",
    "train": "driver.training_loop",
    "train_part": "driver.training_loop",
}


def __getattr__(name: str) -> Any:
    """Import a name's module when it is first used: a plan trains nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
