# SPDX-License-Identifier: Apache-2.0
"""Checks of sketches for joining; each passes on the real code, not on its mutants."""

import math
from dataclasses import replace

import numpy as np

from lexfed.randomness import SeededSource
from lexfed.sketch.joining import keys, offered_sketch
from lexfed.sketch.joining.terms import JoiningTerms

ONE_PERSON = (
    "Anna Berg@example.org",
    "  anna   berg@EXAMPLE.org ",
    "\uff41\uff4e\uff4e\uff41\u00a0Berg@example.org",
    "anna\tberg@example.org\n",
)
"""One key as four people write it."""

TERMS = JoiningTerms(size=400, seed=7, epsilon=1.0)
TRIALS = 4000


def one_person_moves_one_cell_and_the_count_by_one() -> None:
    """Also a person with several rows, written in several ways."""
    others = [f"person {n}" for n in range(200)]
    without = offered_sketch.exact_tables(TERMS, keys.people_of(others))
    there = offered_sketch.exact_tables(TERMS, keys.people_of([*others, *ONE_PERSON]))
    moved = [two - one for one, two in zip(without, there, strict=True)]
    assert np.abs(moved[0]).sum() == 1
    assert moved[1].tolist() == [[1]]


def no_outcome_is_likelier_than_stated() -> None:
    """An attacker who knows the person's cell and adds cell and count as they weigh.

    The best statistic is cell/t + count/c with noise scales t and c. In 4,000 trials
    each, shares err by more than 5 deviations, 5 sqrt(.25/4000) = .0395, with
    probability below 1e-6, and a mechanism that keeps epsilon has P <= e^epsilon P'.
    """
    own = keys.people_of(["somebody"])
    nobody = replace(own, texts=("nobody else",))
    tables = {
        who: offered_sketch.exact_tables(TERMS, people)
        for who, people in (("there", own), ("gone", nobody))
    }
    place = int(np.abs(tables["there"][0]).argmax())
    sign = int(tables["there"][0][0, place])
    tables["gone"] = [np.zeros_like(table) for table in tables["gone"]]
    seen = {}
    for number, (who, exact) in enumerate(tables.items()):
        source = SeededSource(11, str(number))
        found = [offered_sketch.offer(TERMS, exact, source) for _ in range(TRIALS)]
        noise = found[0].noise
        seen[who] = np.array(
            [
                sign * f.cells[place] / noise.table + f.people / noise.count
                for f in found
            ]
        )
    slack = 5 * math.sqrt(0.25 / TRIALS)
    for least in np.linspace(-2.0, 2.0, 17):
        share = float(np.mean(seen["there"] >= least))
        other = float(np.mean(seen["gone"] >= least))
        assert share - slack <= math.exp(TERMS.epsilon) * (other + slack)
