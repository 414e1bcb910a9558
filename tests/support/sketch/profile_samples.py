# SPDX-License-Identifier: Apache-2.0
"""Profiles of made-up federations: one with something of everything, and an odd one."""

import numpy as np

from lexfed.sketch.profile.federation_profile import (
    FederationProfile,
    ProfiledColumn,
    build_profile,
)
from lexfed.sketch.queries.requested_tables import ReleasedTable
from lexfed.tiers import Tier
from support.sketch.profile_tables import Federation

PEOPLE = 4000
SITES = ("north", "south")
HOSTILE = "<script>alert(1)</script>"
LONG = "a_name_that_goes_on_and_on_" * 8


def number(name: str, ends: tuple[float, float] | None = None) -> ProfiledColumn:
    return ProfiledColumn(name, "number", Tier.PERSONAL, range=ends)


def category(name: str, values: tuple[str, ...] | None = None) -> ProfiledColumn:
    return ProfiledColumn(name, "category", Tier.SPECIAL, values=values)


def whole() -> FederationProfile:
    """A profile with something of everything."""
    draw = Federation(8.0, 1)
    rng = np.random.default_rng(1)
    ages = rng.normal(50, 12, PEOPLE).round()
    ages[:400] = np.nan
    halves = [ages[: PEOPLE // 2], ages[PEOPLE // 2 :] + 10]
    wards = np.repeat([0.0, 1.0], PEOPLE // 2)
    told = [
        *draw.number("age", ages),
        draw.bins("height", halves, (0.0, 128.0)),
        draw.codes("ward", [wards[::2], wards[1::2]], 2),
        draw.codes("smoker", [wards], 2),
        *draw.words("kind", {"urgent": 2500, "planned": 1400, None: 100}),
        draw.doubles("nothing", np.full(PEOPLE, np.nan)),
        draw.keys([np.arange(2000.0), np.arange(1900.0, 3900.0)]),
    ]
    columns = [
        number("age"),
        number("height", (0.0, 128.0)),
        category("ward", ("a", "b")),
        ProfiledColumn("smoker", "flag", Tier.PERSONAL),
        category("kind"),
        number("nothing"),
        number("unasked"),
    ]
    return build_profile(told, columns, SITES, PEOPLE)


def odd() -> FederationProfile:
    """Names that are markup, turn the text around or never end; numbers of any size."""
    draw = Federation(5.0, 2)
    rng = np.random.default_rng(2)
    people = 6000
    sites = (HOSTILE, "\u202eabc", LONG, "", *(f"site {at}" for at in range(9)))
    owed = np.where(
        rng.random(people) < 0.5,
        0.0,
        rng.lognormal(9, 2, people) * rng.choice([-1, 1], people),
    )
    words: dict[str | None, int] = {HOSTILE: 900, "`code`": 800, "ألف": 700, LONG: 600}
    words |= {f"v{at:03}": 90 for at in range(30)} | {None: 300}
    columns: dict[str, list[ReleasedTable]] = {
        HOSTILE: draw.number(HOSTILE, owed),
        "\u202eabc": draw.number("\u202eabc", rng.lognormal(-9, 1, people)),
        LONG: draw.words(LONG, words),
        "constant": draw.number("constant", np.full(people, 7.0)),
        "huge": draw.number("huge", rng.normal(3e15, 1e14, people)),
        "negative": draw.number("negative", -rng.gamma(3, 4, people)),
        "seen by few": draw.number("seen by few", rng.normal(0, 1, 40)),
    }
    asked = [category(name) if name == LONG else number(name) for name in columns]
    told = [table for tables in columns.values() for table in tables]
    parts = np.array_split(np.arange(float(people)), len(sites))
    values = [rng.integers(0, 3, len(part)).astype(float) for part in parts]
    told += [draw.codes("ward", values, 3), draw.keys(parts)]
    asked.append(category("ward", ("a", HOSTILE, LONG)))
    return build_profile(told, asked, sites, people)


def empty() -> FederationProfile:
    """Nobody was asked anything."""
    return FederationProfile(1.0, (), ())
