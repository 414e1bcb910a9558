# SPDX-License-Identifier: Apache-2.0
"""Plans, claims and logs are those that are kept; `support.golden` says how.

On one machine they are equal to the last bit. Here numbers may differ by rounding,
which depends on the processor, and digests of what was trained are not compared.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

import pytest

from support.golden import (
    PLANS,
    RUN_NAMES,
    RUNS,
    VARIES,
    configurations,
    kept,
    plan_of,
    run_of,
)

TEXTS = configurations()
QUICK = ("cascade", "pld caps", "class profile", "noise linear filter")
DIGEST = re.compile(r"[0-9a-f]{64}|[A-Za-z0-9+/]{43}=")


def differences(then: Any, now: Any, place: str) -> Iterator[str]:
    if isinstance(then, dict) and isinstance(now, dict) and set(then) == set(now):
        for key in then:
            yield from differences(then[key], now[key], f"{place}.{key}")
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (a, b) in enumerate(zip(then, now, strict=True)):
            yield from differences(a, b, f"{place}[{number}]")
    elif isinstance(then, float) and isinstance(now, float):
        if not math.isclose(then, now, rel_tol=1e-6, abs_tol=1e-9):
            yield f"{place}: {then!r}, now {now!r}"
    elif isinstance(then, str) and (then == VARIES or DIGEST.fullmatch(then)):
        pass
    elif then != now:
        yield f"{place}: {then!r}, now {now!r}"


def test_every_configuration_is_kept() -> None:
    assert list(kept(PLANS)) == list(TEXTS)
    assert tuple(kept(RUNS)) == RUN_NAMES
    assert len(TEXTS) >= 60


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in TEXTS
    ],
)
def test_plans_are_those_kept(name: str) -> None:
    assert not list(differences(kept(PLANS)[name], plan_of(TEXTS[name]), name))


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN_NAMES)
def test_claims_and_logs_are_those_kept(name: str) -> None:
    assert not list(differences(kept(RUNS)[name], run_of(TEXTS[name]), name))


def test_another_number_is_noticed() -> None:
    then = {"a": [1.0, {"b": "x"}]}
    assert not list(differences(then, {"a": [1.0 + 1e-12, {"b": "x"}]}, ""))
    assert list(differences(then, {"a": [1.001, {"b": "x"}]}, "")) == [
        ".a[0]: 1.0, now 1.001"
    ]
    assert list(differences(then, {"a": [1.0]}, ""))
