# SPDX-License-Identifier: Apache-2.0
"""One run, from configuration to claim. Read this first.

    population = load_population(config, base)      # tagged, capped, encoded, split
    priced     = price(config, population)          # nothing spent yet
    opened     = start(priced, path, config_text)   # or resume(...): folder and log
    result     = train(priced, opened)              # charge, ask, noise, log, release

Every round is charged on disk before anybody computes, is in the audit log before its
release is the state, and exists once it is. Everything else follows from that order.
`api.py` has the same as one call.
"""

from lexfed.run.api import folder_of, priced_file
from lexfed.run.opening import OpenRun, finished, resume, start
from lexfed.run.planning import Priced, plan_json, price
from lexfed.run.population import Population, load_population, seeded_population
from lexfed.run.prediction import Predictions, predict
from lexfed.run.result import RunResult, notes_of, read_result
from lexfed.run.training import OnRound, RoundReport, train

__all__ = [
    "OnRound",
    "OpenRun",
    "Population",
    "Predictions",
    "Priced",
    "RoundReport",
    "RunResult",
    "finished",
    "folder_of",
    "load_population",
    "notes_of",
    "plan_json",
    "predict",
    "price",
    "priced_file",
    "read_result",
    "resume",
    "seeded_population",
    "start",
    "train",
]
