# SPDX-License-Identifier: Apache-2.0
"""Checks of the exact way of joining; each passes on the real code only.

Set intersection finds the size of an intersection, so what the asking side sees is that
of the two lists of keys: no library is needed to look at its law.
"""

import math

import numpy as np
from numpy.typing import NDArray

from lexfed.randomness import SeededSource
from lexfed.sketch.joining import exact_count
from lexfed.sketch.joining.exact_count import Agreement
from lexfed.sketch.joining.keys import PersonKeys, people_of

AGREED = Agreement(size=30, epsilon=1.0)
TRIALS = 4000


def counts(people: PersonKeys, name: str) -> NDArray[np.int64]:
    """What the asking side sees in each of many answers; it has everybody."""
    everybody = people_of(f"p{n}" for n in range(20))
    asked = set(exact_count.asking_keys(AGREED, everybody, SeededSource(1, name)))
    source = SeededSource(2, name)
    found = [
        len(asked.intersection(exact_count.answering_keys(AGREED, people, source)))
        for _ in range(TRIALS)
    ]
    return np.array(found) - AGREED.margin


def no_outcome_is_likelier_than_stated() -> None:
    """Shares of 4,000 answers with and without one person.

    Off by more than 5 deviations, 5 sqrt(.25/4000) = .0395, with probability below
    1e-6 each; a mechanism that keeps epsilon has P <= e^epsilon P'.
    """
    there = counts(people_of(f"p{n}" for n in range(10)), "there")
    gone = counts(people_of(f"p{n}" for n in range(9)), "gone")
    slack = 5 * math.sqrt(0.25 / TRIALS)
    grown = math.exp(AGREED.epsilon)
    for least in range(6, 15):
        share, other = float(np.mean(there >= least)), float(np.mean(gone >= least))
        assert share - slack <= grown * (other + slack)
        # And the other way round, for what is left below.
        assert 1 - other - slack <= grown * (1 - share + slack)


def as_many_keys_leave_whoever_is_there() -> None:
    """Otherwise their number would tell, without noise, who is not shared."""
    for who in (1, 9, 30):
        people = people_of(f"p{n}" for n in range(who))
        for seed in range(50):
            source = SeededSource(seed)
            for made in (exact_count.asking_keys, exact_count.answering_keys):
                keys = made(AGREED, people, source)
                assert len(keys) == len(set(keys)) == AGREED.elements
