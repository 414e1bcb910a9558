# SPDX-License-Identifier: Apache-2.0
"""`[adapt]`: what is allowed, and every combination that would mean nothing."""

from pathlib import Path

import pytest

from lexfed.budget.tower_steering import Adaptation
from lexfed.config import examine, loads

GOOD = (Path(__file__).parent / "good.toml").read_text()
RULE = ("learning_rate = 0.5\n", "")
NO_CLIP = ("clip = { default = 1.0, special = 0.5 }\n", "")
CLIENT = ('unit = "record"', 'unit = "client"')
SAMPLED = ("sampling_rate = 1.0", "sampling_rate = 0.1")
PROFILE = (
    "[budget.caps]",
    '[budget.profiles.strict]\nsites = ["north"]\nepsilon = 0.5\n\n[budget.caps]',
)
RDP = ('"pld"', '"rdp"')


def text(table: str, *changes: tuple[str, str]) -> str:
    found = GOOD
    for old, new in changes:
        assert old in found
        found = found.replace(old, new, 1)
    return f"{found}\n[adapt]\n{table}\n"


def problems(given: str) -> list[str]:
    return [problem.what for problem in examine(given).problems]


@pytest.mark.parametrize(
    "given",
    [
        text(""),
        text("", RULE, NO_CLIP),
        text('noise = "convergence"\nbeta = 0.5\ndecay = 0.2\nwindow = 5'),
        text('noise = "linear"\nwindow = 5'),
        text('noise = "feedback"\nclip = "feedback"\nlearning_rate = "feedback"'),
        text('noise = "convergence"\nguarantee = "filter"\nrounds_at_most = 90'),
        text('noise = "convergence"\nguarantee = "filter"', SAMPLED, RDP),
        text('noise = "convergence"\nguarantee = "filter"', CLIENT),
        text('noise = "convergence"', SAMPLED),
        text('noise = "convergence"\npatience = 4', CLIENT),
        text('clip = "quantile"\nquantile = 0.8\nclip_rate = 0.1'),
        text('clip = "feedback"', ('"cascade"', '"grouped"')),
        text("patience = 4"),
        text('noise = "linear"', PROFILE),
    ],
)
def test_allowed(given: str) -> None:
    assert problems(given) == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (
            text("patience = 4", ('"cascade"', '"none"')),
            '`[adapt]` does nothing with `mechanism = "none"`: no noise is added',
        ),
        (
            text('noise = "linear"', RULE, NO_CLIP),
            "`[adapt]` does nothing without `learning_rate`: for `logistic` models a "
            "built-in rule sets the rounds",
        ),
        (
            text('noise = "linear"\nbeta = 0.2'),
            '`adapt.beta` needs `noise = "convergence"` or `noise = "feedback"`, '
            'got: `"linear"`',
        ),
        (
            text("patience = 4\ndecay = 0.2"),
            '`adapt.decay` needs `noise = "convergence"` or `noise = "linear"`, '
            'got: `"none"`',
        ),
        (
            text('noise = "feedback"\nwindow = 3'),
            '`adapt.window` needs `noise = "convergence"` or `noise = "linear"`, '
            'got: `"feedback"`',
        ),
        (
            text('clip = "feedback"\nquantile = 0.4'),
            '`adapt.quantile` needs `clip = "quantile"`, got: `"feedback"`',
        ),
        (
            text('clip = "feedback"\nclip_rate = 0.5'),
            '`adapt.clip_rate` needs `clip = "quantile"`, got: `"feedback"`',
        ),
        (
            text('noise = "linear"\nrounds_at_most = 90'),
            '`adapt.rounds_at_most` needs `guarantee = "filter"`, got: `"envelope"`',
        ),
        (
            text('noise = "linear"\nguarantee = "filter"\nrounds_at_most = 9'),
            "`adapt.rounds_at_most`: expected at least `federation.rounds`, 30, got: 9",
        ),
        (
            text('guarantee = "filter"'),
            '`adapt.guarantee`: `filter` does nothing with `noise = "none"`',
        ),
        (
            text('noise = "linear"\nguarantee = "filter"', SAMPLED),
            "`adapt.guarantee`: `filter` with `sampling_rate` below 1 needs "
            '`accountant = "rdp"`, got: `"pld"`',
        ),
        (
            text('noise = "linear"\nguarantee = "filter"', SAMPLED, RDP, CLIENT),
            "`adapt.guarantee`: `filter` cannot be kept where clients are sampled: a "
            "client that is left out cannot know what the others' rounds cost",
        ),
        (
            text('noise = "linear"\nguarantee = "filter"', PROFILE),
            '`budget.profiles`: needs `guarantee = "envelope"`, got: "filter"',
        ),
        (
            text("patience = 4", SAMPLED, CLIENT),
            "`adapt.patience`: towers cannot end early where clients are sampled: a "
            "client that is left out cannot know which rounds were skipped",
        ),
        (
            text('clip = "quantile"', ('"cascade"', '"grouped"')),
            "`adapt.clip`: `quantile` follows one clip per tower, and `grouped` has "
            "one per tier in a single tower",
        ),
    ],
)
def test_refused(given: str, expected: str) -> None:
    assert problems(given) == [expected]


@pytest.mark.parametrize(
    "table",
    ["beta = 0", "beta = 0.95", "quantile = 1", "clip_rate = 2", "window = 0",
     "patience = 0", "decay = inf", 'noise = "loud"', "lambda = 0.1"],
)  # fmt: skip
def test_values_out_of_bounds_are_refused(table: str) -> None:
    assert problems(text(table))


def test_the_table_is_what_the_rest_knows() -> None:
    config = loads(text('noise = "convergence"\nbeta = 0.2\npatience = 7'))
    assert config.adapt.adapting == Adaptation("convergence", beta=0.2, patience=7)
    assert loads(GOOD).adapt.adapting == Adaptation()
