# SPDX-License-Identifier: Apache-2.0
"""One run, from configuration to claim. Read this first.

    population = load_population(config, base)      # tagged, capped, encoded, split
    priced     = price(config, population)          # nothing spent yet
    result     = train(priced, folder)              # charge, ask, noise, learn, repeat

Every round is charged on disk before anybody computes, and exists once its release is
on disk. Everything else follows from that order.
"""

from lexfed.run.planning import Priced, plan_json, price
from lexfed.run.population import Population, load_population
from lexfed.run.prediction import predict
from lexfed.run.training import RoundReport, RunResult, resume, start, train

__all__ = [
    "Population",
    "Priced",
    "RoundReport",
    "RunResult",
    "load_population",
    "plan_json",
    "predict",
    "price",
    "resume",
    "start",
    "train",
]
