# SPDX-License-Identifier: Apache-2.0
"""How often the intervals of a profile hold the truth, and how wide they are; JSON.

    PYTHONPATH=tests python -m benchmarks.profile_answers [--trials 400]

Tables of 10,000 made-up persons with normal noise of several deviations, as a
federation would release them, follow-ups included. For each column and noise:

    covered   shares of trials in which an interval holds the truth: of the quantiles
              (0.5 %, 25 %, 50 %, 75 %, 99.5 %), of the share of missing values
    inside    share of all values that the range to declare holds: the median trial,
              and the least of 20
    words     values found of those that 5, 2, 1 and 0.5 % of all persons have, and
              how often the intervals of those that are listed hold the truth
"""

import argparse
import json
from typing import Any

import numpy as np

from lexfed.arrays import Floats
from lexfed.sketch.profile.answers import ProfiledNumber
from lexfed.sketch.profile.federation_profile import ProfiledColumn, build_profile
from lexfed.sketch.profile.number_summaries import SHARES
from lexfed.tiers import Tier
from support.sketch.profile_tables import Federation

PEOPLE = 10_000
NOISES = (5.0, 20.0, 60.0)
WORDS: dict[str | None, int] = {
    "emergency": 500, "elective": 200, "transfer": 100, "newborn": 50,
    "urgent": PEOPLE - 1000, None: 150,
}  # fmt: skip


def columns() -> dict[str, Floats]:
    """Return numbers that are even, skewed, and mostly zero with either sign."""
    rng = np.random.default_rng(1)
    signs = rng.choice([-1.0, 1.0], PEOPLE)
    paid = np.where(rng.random(PEOPLE) < 0.6, 0.0, signs * rng.lognormal(4, 1, PEOPLE))
    every = {
        "ages": rng.normal(52, 14, PEOPLE).clip(18, 95).round(),
        "incomes": rng.lognormal(10, 0.8, PEOPLE),
        "payments": paid,
    }
    for values in every.values():
        values[: PEOPLE // 20] = np.nan
    return every


def holds(answer: ProfiledNumber, truth: float) -> bool:
    """Say whether an interval holds the truth; an unknown end always does."""
    low = answer.low is None or answer.low <= truth
    return low and (answer.high is None or truth <= answer.high)


def numbers(values: Floats, noise: float, trials: int) -> dict[str, Any]:
    """Measure the answers about one column of numbers."""
    asked = [ProfiledColumn("x", "number", Tier.PERSONAL)]
    known = values[~np.isnan(values)]
    truths = np.quantile(known, SHARES, method="inverted_cdf")
    held, missing = np.zeros(len(SHARES)), 0
    inside = []
    for seed in range(trials):
        # Other noise for every column.
        told = Federation(noise, seed + round(known.max())).number("x", values)
        (column,) = build_profile(told, asked, (), PEOPLE).columns
        if column.missing is None or column.range is None:
            continue
        low, high = column.range
        inside.append(float(np.mean((known >= low) & (known <= high))))
        missing += holds(column.missing, 0.05)
        held += [
            holds(quantile.at, truth)
            for quantile, truth in zip(column.quantiles, truths, strict=True)
        ]
    return {
        "answered": len(inside) / trials,
        "covered": {
            "quantiles": (held / len(inside)).round(3).tolist(),
            "missing": round(missing / len(inside), 3),
        },
        "inside": np.quantile(inside, [0.5, 0.05]).round(3).tolist(),
    }


def words(noise: float, trials: int) -> dict[str, Any]:
    """Measure which words are found, and what is said about their counts."""
    asked = [ProfiledColumn("x", "category", Tier.PERSONAL)]
    found = dict.fromkeys(WORDS, 0)
    held = wrong = 0
    for seed in range(trials):
        told = Federation(noise, seed).words("x", WORDS)
        (column,) = build_profile(told, asked, (), PEOPLE).columns
        for listed in column.values:
            if listed.value in WORDS:
                found[listed.value] += 1
                held += holds(listed.count, WORDS[listed.value])
            else:
                wrong += 1
    rare = ("emergency", "elective", "transfer", "newborn")
    return {
        "found": [round(found[word] / trials, 3) for word in rare],
        "covered": round(held / max(sum(found.values()), 1), 3),
        "wrong": round(wrong / trials, 3),
    }


def main() -> None:
    """Print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=400)
    trials = parser.parse_args().trials
    measured = {
        f"noise {noise:g}": {
            **{name: numbers(each, noise, trials) for name, each in columns().items()},
            "words": words(noise, trials),
        }
        for noise in NOISES
    }
    print(json.dumps({"people": PEOPLE, "trials": trials, **measured}))


if __name__ == "__main__":
    main()
