# SPDX-License-Identifier: Apache-2.0
"""The public number of a run's units."""

from typing import Any

import pytest

from lexfed.config import Config, from_mapping
from lexfed.errors import ConfigError
from lexfed.run.intake.public_facts import check_delta, public_units


def config(data: dict[str, Any] | None = None, **budget: Any) -> Config:
    privacy = {"mechanism": "none"} if budget.pop("free", False) else {}
    columns = {"x": {"kind": "flag"}, "y": {"kind": "flag"}}
    tag = {"tier": "personal", "reason": "an example"}
    return from_mapping(
        {
            "version": 1,
            "run": {"name": "small"},
            "data": {
                "sites": {"files": ["a.csv", "b.csv"]},
                "target": "y",
                "columns": columns,
                **(data or {}),
            },
            "law": {"columns": {"x": tag, "y": tag}},
            "budget": {"epsilon": 1.0, "delta": 1e-3, **budget},
            "privacy": privacy,
        }
    )


def test_the_divisor_is_what_neighbours_share() -> None:
    client = config(unit="client")
    assert public_units(client, 7, 100) == 7
    replaced = config(neighbours="replace-one")
    assert public_units(replaced, 7, 100) == 100
    declared = config({"units": 50, "test_size": 0.2})
    assert public_units(declared, 7, 100) == 40
    assert public_units(config(free=True), 7, 100, declared=10) == 8
    with pytest.raises(ConfigError, match="the number of people is itself private"):
        public_units(config(free=True), 7, 100)


def test_a_delta_of_one_over_the_units_would_publish_one() -> None:
    with pytest.raises(ConfigError, match="below 1/1000, one over the number of sites"):
        check_delta(config(unit="client"), 1000, 10)
    with pytest.raises(ConfigError, match="number of people"):
        check_delta(config(neighbours="replace-one"), 7, 1000)
    with pytest.raises(ConfigError, match="below 1/1000"):
        check_delta(config({"units": 50}), 7, 1000, declared=1000)
    check_delta(config(neighbours="replace-one"), 7, 999)
    check_delta(config({"units": 50}), 7, 10**6)
    check_delta(config(free=True), 7, 10**6)
