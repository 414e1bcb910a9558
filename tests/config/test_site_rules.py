# SPDX-License-Identifier: Apache-2.0
"""Schedules, profiles and clients: what is allowed, and what mistakes are told."""

from pathlib import Path

import pytest

from lexfed.config import examine, loads

GOOD = (Path(__file__).parent / "good.toml").read_text()


def budget(text: str, *changes: tuple[str, str]) -> str:
    """Return the good configuration with tables added and words replaced."""
    result = GOOD + "\n" + text
    for old, new in changes:
        assert old in result
        result = result.replace(old, new, 1)
    return result


def problems(text: str) -> list[str]:
    return [problem.what for problem in examine(text).problems]


EU = '[budget.profiles.eu]\nsites = ["a"]\nepsilon = 1.0\n'
CLIENTS = "[budget.clients]\ntotal = 4.0\nlow = 0.2\nhigh = 2.0\n"
ALLOCATION = 'allocation = "caps"\n'
SAMPLED = ("sampling_rate = 1.0", "sampling_rate = 0.1")


def schedule(name: str) -> tuple[str, str]:
    return ('schedule = "constant"', f'schedule = "{name}"')


def realise(name: str) -> tuple[str, str]:
    return (ALLOCATION, f'{ALLOCATION}realise = "{name}"\n')


@pytest.mark.parametrize(
    "text",
    [
        budget("", schedule("cosine")),
        budget("[budget.pace]\nratio = 3.0\n", schedule("geometric")),
        budget("[budget.pace]\nratio = 3.0\n", schedule("cosine")),
        budget("[budget.pace]\nratio = 3\ndrops = [0.2]\n", schedule("step")),
        budget(
            "[budget.pace]\nsave = 0.1\nsave_until = 0.3\n", schedule("time-adaptive")
        ),
        budget(EU),
        budget('[budget.profiles.eu]\nsites = ["a"]\ncaps = { special = 0.1 }\n'),
        budget(EU, realise("sampling"), SAMPLED),
        budget(EU + "save = 0.2\nsave_until = 0.6\n"),
        budget(CLIENTS),
        budget(CLIENTS + "[budget.clients.gammas]\nb = 2.0\n"),
        budget('[budget.profiles.eu]\nsites = ["a"]\n' + CLIENTS),
    ],
)
def test_allowed(text: str) -> None:
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            budget("[budget.pace]\nratio = 3.0\nsave = 0.1\n"),
            [
                '`budget.pace.ratio` does nothing with `schedule = "constant"`',
                '`budget.pace.save` does nothing with `schedule = "constant"`',
            ],
        ),
        (
            budget("[budget.pace]\ndrops = [0.1]\n", schedule("cosine")),
            ['`budget.pace.drops` does nothing with `schedule = "cosine"`'],
        ),
        (
            budget("[budget.pace]\ndrops = [0.5, 0.1]\n", schedule("step")),
            ["`budget.pace.drops`: expected parts of the rounds that ascend"],
        ),
        (
            budget('[budget.profiles.eu]\nsites = ["a"]\n'),
            ["`budget.profiles.eu` does nothing: it has no budget of its own"],
        ),
        (
            budget('[budget.profiles."e u"]\nsites = ["a"]\nepsilon = 1.0\n'),
            [
                '`budget.profiles."e u"`: expected a name of up to 32 letters, digits, '
                "`_`"
            ],
        ),
        (
            budget(EU, ("epsilon = 1.0", "epsilon = 2.5")),
            [
                "`budget.profiles.eu.epsilon`: expected at most `2.0`, as "
                "`budget.epsilon`, got: `2.5`"
            ],
        ),
        (
            budget(EU, ("epsilon = 1.0", "caps = { special = 9.0 }")),
            [
                "`budget.profiles.eu.caps.special`: expected at most `0.3`, as "
                "`budget.caps.special`, got: `9.0`"
            ],
        ),
        (
            budget(EU, ("epsilon = 1.0", "epsilon = 1e-6")),
            ["`budget.profiles.eu.epsilon`: expected at least 0.0001, got: `1e-06`"],
        ),
        (
            budget(EU + '[budget.profiles.uk]\nsites = ["a"]\nepsilon = 0.5\n'),
            ["`budget.profiles.uk.sites`: site `a` is in `eu` already"],
        ),
        (
            budget(EU, ('["a"]', '["a", "a"]')),
            ["`budget.profiles.eu.sites`: site `a` is named twice"],
        ),
        (
            budget(EU + "save = 0.2\n", schedule("time-adaptive")),
            [
                '`budget.profiles.eu.save`: with `schedule = "time-adaptive"` all '
                "sites save already"
            ],
        ),
        (
            budget(EU + "save_until = 0.2\n"),
            ["`budget.profiles.eu.save_until` does nothing without `save`"],
        ),
        (
            budget(EU + '[adapt]\nguarantee = "filter"\nnoise = "convergence"\n'),
            ['`budget.profiles`: needs `guarantee = "envelope"`, got: "filter"'],
        ),
        (
            budget(EU, ('"cascade"', '"none"')),
            ['`budget.profiles` does nothing with `mechanism = "none"`'],
        ),
        (
            budget(
                EU,
                (
                    'person = "patient_id"',
                    'person = "patient_id"\nsites_per_person = 2',
                ),
            ),
            ["`budget.profiles`: needs `sites_per_person = 1`, got: 2"],
        ),
        (
            budget("", realise("sampling"), SAMPLED),
            ["`budget.realise` does nothing without `[budget.profiles]`"],
        ),
        (
            budget(EU, realise("sampling")),
            ["`budget.realise`: `sampling` needs `sampling_rate` below 1, got: 1"],
        ),
        (
            budget(CLIENTS, ("high = 2.0", "high = 0.1")),
            ["`budget.clients.low`: expected at most `high`, `0.1`, got: `0.2`"],
        ),
        (
            budget(CLIENTS, ("high = 2.0", "high = 7.0")),
            [
                "`budget.clients.high`: expected at most `2.0`, as `budget.epsilon`, "
                "got: `7.0`"
            ],
        ),
        (
            budget(CLIENTS, ("low = 0.2", "low = 1e-6")),
            ["`budget.clients.low`: expected at least 0.0001, got: `1e-06`"],
        ),
        (
            budget(EU + CLIENTS),
            [
                "`budget.profiles.eu.epsilon` does nothing with `[budget.clients]`, "
                "which gives every site its epsilon"
            ],
        ),
    ],
)
def test_mistakes(text: str, expected: list[str]) -> None:
    assert problems(text) == expected


def test_schedules_are_read() -> None:
    pace = loads(budget("[budget.pace]\ndrops = [0.2]\n", schedule("step"))).budget.pace
    assert pace.drops == (0.2,)
    assert pace.ratio == 2.0
