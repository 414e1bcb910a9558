# SPDX-License-Identifier: Apache-2.0
"""Whole runs on random neighbours stay within what the claim charges for.

`python -m benchmarks.neighbours` compares ten thousand pairs; here is a sample. The
negative controls are the mutants of `tests/mutants/test_neighbour_mutants.py`.
"""

import pytest

from support.run.neighbour_runs import compare


def test_a_few_random_neighbours_stay_within_the_claim() -> None:
    tally = compare(seed=11, pairs=8, each=2)
    assert tally.pairs == 8
    assert 0.2 < tally.worst <= 1.0


@pytest.mark.slow
def test_random_neighbours_stay_within_the_claim() -> None:
    tally = compare(seed=5, pairs=300, each=10)
    assert 0.9 < tally.worst <= 1.0
    wanted = {"cascade", "grouped", "uniform", "central", "local", "distributed"}
    wanted |= {"files", "column", "iid", "dirichlet", "persons", "profiles", "mlp"}
    assert wanted <= tally.kinds.keys()
