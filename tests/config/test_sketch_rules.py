# SPDX-License-Identifier: Apache-2.0
"""`[sketches]`: what is allowed, and every combination that would mean nothing."""

from pathlib import Path

import pytest

from lexfed.config import examine, loads

GOOD = (Path(__file__).parent / "good.toml").read_text()
NO_PERSON = ('person = "patient_id"\nrecords_per_person = 4\n', "")
PROFILE = (
    "[budget.caps]",
    '[budget.profiles.strict]\nsites = ["north"]\nepsilon = 0.5\n\n[budget.caps]',
)
CLASS = (
    "[privacy]",
    '[[budget.classes]]\nname = "old"\nwhere = "age > 80"\nepsilon = 0.5\n\n[privacy]',
)


def text(table: str, *changes: tuple[str, str]) -> str:
    found = GOOD
    for old, new in changes:
        assert old in found
        found = found.replace(old, new, 1)
    return f"{found}\n[sketches]\n{table}\n"


def problems(given: str) -> list[str]:
    return [problem.what for problem in examine(given).problems]


@pytest.mark.parametrize(
    "given",
    [
        text(""),
        text("share = 0.1"),
        text('share = 0.1\nweights = "overlap"\nevery = 2\ncolumns = 0'),
        text("share = 0.1", NO_PERSON),
        text("share = 0.1\nevery = 0"),
        text(
            'share = 0.1\nweights = "overlap"',
            ('source = "patients.csv"', 'source = "synthetic:hospital"'),
        ).partition("[data.columns]")[0]
        + "[budget]\nepsilon = 1.0\ndelta = 1e-6\n[sketches]\nshare = 0.1\n",
    ],
)
def test_what_is_allowed(given: str) -> None:
    if "synthetic" in given:
        given = "\n".join(
            line
            for line in given.splitlines()
            if not line.startswith(("target", "person", "records", "units", "sites"))
        )
    assert problems(given) == []


def test_nothing_is_sketched_by_default() -> None:
    assert loads(GOOD).sketches.share == 0.0


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (text('weights = "overlap"'), "does nothing with `share = 0`"),
        (text("columns = 5"), "does nothing with `share = 0`"),
        (text("share = 0.6"), "at most 0.5"),
        (text("share = -0.1"), "at least 0"),
        (text("share = 0.1\nevery = -1"), "at least 0"),
        (text('share = 0.1\nweights = "all"'), "`none`, `overlap`"),
        (
            text('share = 0.1\nweights = "overlap"', NO_PERSON),
            "`overlap` needs `data.person`",
        ),
        (text("share = 0.1\ncolumns = 0", NO_PERSON), "has nothing to count"),
        (text("share = 0.1", ('"cascade"', '"none"')), "nothing is protected"),
        (
            text("share = 0.1", ('unit = "record"', 'unit = "client"')),
            "people are not what is counted",
        ),
        (text("share = 0.1", PROFILE), "differ between sites"),
        (text("share = 0.1", CLASS), "`budget.classes`"),
    ],
)
def test_what_would_mean_nothing_is_refused(given: str, what: str) -> None:
    assert any(what in problem for problem in problems(given)), problems(given)
