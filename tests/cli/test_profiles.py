# SPDX-License-Identifier: Apache-2.0
"""The plan says what each profile of sites may spend, and how much it takes part."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Lexfed = Callable[..., Any]
Edit = Callable[..., None]

PROFILES = """
[budget.profiles.eu]
sites = ["north", "south"]
caps = { special = 0.5 }

[budget.profiles.small]
sites = ["west"]
epsilon = 1.5
"""


def test_the_plan_shows_profiles(lexfed: Lexfed, place: Path, edit: Edit) -> None:
    edit(add=PROFILES)
    lines = [line.strip() for line in lexfed("plan").out.splitlines()]
    shown = [line for line in lines if line.startswith(("profile", "takes part"))]
    assert len(shown) == 4
    assert shown[0].startswith("profile  eu, 2 sites: ε ")
    assert shown[0].endswith(", special 0.50 of 0.5, label 14.00")
    assert shown[1].startswith("takes part with 100% in non_personal, with 100% in")
    assert shown[2].startswith("profile  small, 1 site: ε 1.50 of 1.5, non_personal ")
    profiles = json.loads(lexfed("plan", "--json").out)["claims"]["profiles"]
    assert set(profiles) == {"eu", "small"}
    assert profiles["eu"]["sites"] == 2
    assert set(profiles["eu"]) == {"sites", "epsilon", "delta", "tiers", "label"}


def test_the_plan_says_where_a_profile_is_left_out(
    lexfed: Lexfed, place: Path, edit: Edit
) -> None:
    edit(add=PROFILES.replace("special = 0.5", "special = 0.0001"))
    said = lexfed("plan").out
    assert "with 100% in personal, not in special" in said


def test_a_site_that_is_not_there(lexfed: Lexfed, place: Path, edit: Edit) -> None:
    edit(add=PROFILES.replace('"west"', '"wset"'))
    said = lexfed("plan")
    assert said.code == 2
    assert "`budget.profiles.small.sites`: there is no site `wset`" in said.err
    assert "did you mean `west`?" in said.err
