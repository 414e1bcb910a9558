# SPDX-License-Identifier: Apache-2.0
"""The cost of a charged search, as docs/guide/policies.md shows it, computed again."""

import math
import re
from pathlib import Path
from typing import get_args

import pytest
from scipy.optimize import brentq

from lexfed.arrays import Floats
from lexfed.privacy.accountants import gdp, rdp
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.selection import (
    Distribution,
    Repetitions,
    dominating_mu,
    selected_curve,
)

EPSILON, DELTA = 2.0, 1e-6


def curve_of(mu: float, law: Repetitions) -> Floats:
    """Return the divergences of the best of so many Gaussians."""
    return selected_curve(rdp.curve([Step(1.0 / mu)], "add-remove"), law)


def mu_of_one_run(law: Repetitions) -> float:
    """Return the mu of one run at which the whole search has the epsilon."""

    def excess(mu: float) -> float:
        return rdp.epsilon_from(curve_of(mu, law), DELTA) - EPSILON

    return float(brentq(excess, 1e-3, 2.0, xtol=1e-9))


def test_the_table_says_what_one_run_may_cost(root: Path) -> None:
    text = (root / "docs" / "guide" / "policies.md").read_text(encoding="utf-8")
    head, *rows = re.findall(r"^\| (?:`--runs`|\d+) \|.*\|$", text, re.MULTILINE)
    laws = re.findall(r"`(\w+)`", head)
    assert sorted(laws) == sorted(get_args(Distribution))
    assert len(rows) == 4
    for row in rows:
        runs, *stated = (float(cell) for cell in row.strip("| ").split("|"))
        for law, value in zip(laws, stated, strict=True):
            one = gdp.epsilon_from(mu_of_one_run(Repetitions(law, runs)), DELTA)
            assert value == math.floor(100 * one) / 100


@pytest.mark.parametrize(
    ("law", "runs", "ledger", "own"),
    [("geometric", 10.0, 3.7, 2.0), ("poisson", 5.0, 2.4, 1.7)],
)
def test_a_ledger_pays_more_than_the_search_costs(
    law: Distribution, runs: float, ledger: float, own: float
) -> None:
    drawn = Repetitions(law, runs)
    mu = mu_of_one_run(drawn)
    found = dominating_mu(mu, curve_of(mu, drawn), drawn) / mu
    search = gdp.mu_from(EPSILON, DELTA) / mu
    assert found == pytest.approx(ledger, abs=0.05)
    assert search == pytest.approx(own, abs=0.05)
