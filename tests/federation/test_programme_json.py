# SPDX-License-Identifier: Apache-2.0
"""A programme as JSON: every bit comes back, and nothing else is taken."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from lexfed.canonical import canonical_bytes
from lexfed.config import loads
from lexfed.errors import AuditError
from lexfed.federation.programme.json_form import first_difference, from_bytes, to_bytes
from lexfed.federation.programme.sequence import Programme
from lexfed.run import load_population, price
from support.configurations import configuration


@cache
def programme(more: str = "") -> Programme:
    rate = {"federation.learning_rate": 0.5} if "[adapt]" in more else {}
    text = configuration({"run": {"name": "small"}, "federation.rounds": 2, **rate})
    config = loads(text + more)
    return price(config, load_population(config, Path())).programme


@pytest.mark.parametrize(
    "more",
    [
        "",
        '[privacy]\nmechanism = "none"',
        '[adapt]\nnoise = "convergence"\nclip = "quantile"',
        '[budget.profiles.strict]\nsites = ["site-2"]\nepsilon = 1.0\nsave = 0.5',
        '[[budget.classes]]\nname = "old"\nwhere = "age >= 90"\nepsilon = 1.0',
    ],
)
def test_every_bit_comes_back(more: str) -> None:
    ours = programme(more.replace("site-2", programme().sites[1]))
    again = from_bytes(to_bytes(ours))
    assert again == ours
    assert again.digest == ours.digest
    assert first_difference(ours, again) == ""


def _stage(plain: Any) -> Any:
    return plain["programme"]["stages"][1]


@pytest.mark.parametrize(
    "spoil",
    [
        lambda plain: plain.update(version=2),
        lambda plain: plain.update(more=1),
        lambda plain: plain["programme"].pop("seed"),
        lambda plain: plain["programme"].update(seed="3"),
        lambda plain: plain["programme"].update(trust="mine"),
        lambda plain: _stage(plain).update(tower=0.5),
        lambda plain: _stage(plain)["blocks"][0]["grid"].update(clip=-1.0),
        lambda plain: _stage(plain)["blocks"][0]["grid"].update(other=1),
        lambda plain: _stage(plain)["releases"][0].update(reads=9),
    ],
)
def test_another_field_or_type_is_refused(spoil: Callable[[Any], None]) -> None:
    plain = json.loads(to_bytes(programme()))
    spoil(plain)
    with pytest.raises(AuditError, match="not a programme"):
        from_bytes(canonical_bytes(plain))


def test_there_is_one_byte_form() -> None:
    with pytest.raises(AuditError, match="only byte form"):
        from_bytes(b" " + to_bytes(programme()))
    with pytest.raises(AuditError, match="not JSON"):
        from_bytes(b"\x00")


def _with_sigma(factor: float) -> Programme:
    ours = programme()
    stage = ours.stages[0]
    [release, *rest] = stage.releases
    assert release is not None
    [group, *others] = release.groups
    noisy = replace(
        release, groups=(replace(group, sigma=group.sigma * factor), *others)
    )
    changed = replace(stage, releases=(noisy, *rest))
    return replace(ours, stages=(changed, *ours.stages[1:]))


def test_the_last_bits_of_floats_may_differ_and_nothing_else() -> None:
    ours = programme()
    nearly = _with_sigma(1.0 + 2**-50)
    assert nearly.digest != ours.digest
    assert first_difference(ours, nearly) == ""
    less = first_difference(ours, _with_sigma(1.0 - 1e-8))
    assert less == "programme.programme.stages[0].releases[0].groups[0].sigma"
    assert first_difference(ours, replace(ours, seed=1)).endswith(".seed")
    assert first_difference(ours, replace(ours, sites=ours.sites[:2])).endswith("sites")
    assert first_difference(ours, replace(ours, mechanism="none")).endswith("mechanism")
    other = programme('[privacy]\nmechanism = "none"')
    assert first_difference(ours, other)
    assert math.isfinite(ours.stages[0].divisor)


@pytest.mark.parametrize("name", ["clip", "summation_error"])
def test_a_grid_is_what_its_release_is_charged_for(name: str) -> None:
    """Rounding between machines is no excuse here: both numbers are exact."""
    ours = programme()
    stage = ours.stages[1]
    [block, *others] = stage.blocks
    field: dict[str, Any] = {name: getattr(block.grid, name) * (1.0 + 9e-10)}
    wider = replace(block, grid=replace(block.grid, **field))
    changed = replace(stage, blocks=(wider, *others))
    sent = replace(ours, stages=(ours.stages[0], changed, *ours.stages[2:]))
    found = first_difference(ours, sent)
    assert found == "programme.stages[1].blocks[0].grid"


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value; of long lists the first and the last."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    elif isinstance(value, list) and value:
        yield path
        for at in {0, len(value) - 1}:
            yield from _places(value[at], (*path, at))
    else:
        yield path


def _another(value: Any) -> Any:
    if isinstance(value, list):
        return value[:-1] if value else [1]
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return f"{value}x"
    if value is None:
        return 1
    return value * (1.0 + 1e-6) if isinstance(value, float) else value + 1


def test_no_value_can_be_changed_unnoticed() -> None:
    ours = programme()
    content = to_bytes(ours)
    places = list(_places(json.loads(content)))
    assert len(places) > 150
    for place in places:
        plain = json.loads(content)
        inner = plain
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = _another(inner[place[-1]])
        try:
            sent = from_bytes(canonical_bytes(plain))
        except AuditError:
            continue
        assert first_difference(ours, sent), place
