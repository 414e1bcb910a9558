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

from lexfed.run.api import folder_of, priced_file
from lexfed.run.driver.open_run import OpenRun, finished_result, resume, start
from lexfed.run.driver.training_loop import RoundReport, train, train_part
from lexfed.run.intake.population import Population, load_population, seeded_population
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
