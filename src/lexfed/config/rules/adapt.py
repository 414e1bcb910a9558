# SPDX-License-Identifier: Apache-2.0
"""Rules of `[adapt]` and `[sketches]`: what cannot happen along the way, or in vain."""

from collections.abc import Iterator

from lexfed.config.rules.budget import MECHANISM, RATE, UNIT
from lexfed.config.rules.data import PERSON
from lexfed.config.tables.root import Config, SketchesTable
from lexfed.config.text.findings import Finding, about
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import shown

NOISE: KeyPath = ("adapt", "noise")
GUARANTEE: KeyPath = ("adapt", "guarantee")
ACCOUNTANT: KeyPath = ("privacy", "accountant")
ROUNDS: KeyPath = ("federation", "rounds")
STEP: KeyPath = ("federation", "learning_rate")
SHARE: KeyPath = ("sketches", "share")


def something_can_adapt(config: Config) -> Iterator[Finding]:
    """Steering acts on noisy descent; the built-in rule has few rounds of its own."""
    if not config.adapt.adapting.active:
        return
    if config.privacy.mechanism == "none":
        what = '`[adapt]` does nothing with `mechanism = "none"`: no noise is added'
        hint = "remove the table, or choose another mechanism"
        yield Finding(("adapt",), what, hint, (MECHANISM,))
    elif config.follows_rule:
        what = (
            f"`[adapt]` does nothing without `learning_rate`: for "
            f"`{config.federation.model}` models a built-in rule sets the rounds"
        )
        hint = "set `learning_rate` under `[federation]` too, or remove the table"
        yield Finding(("adapt",), what, hint, (STEP, MECHANISM, UNIT))


_NEEDS = {
    "beta": ("noise", ("convergence", "feedback")),
    "clip_rate": ("clip", ("quantile",)),
    "decay": ("noise", ("convergence", "linear")),
    "quantile": ("clip", ("quantile",)),
    "rounds_at_most": ("guarantee", ("filter",)),
    "window": ("noise", ("convergence", "linear")),
}
"""Keys that do something only where another key has one of some values."""


def settings_do_something(config: Config) -> Iterator[Finding]:
    """A setting of a rule that is not chosen would be ignored."""
    for key, (other, values) in _NEEDS.items():
        value = getattr(config.adapt, other)
        if config.adapt.changes(key) and value not in values:
            wanted = " or ".join(f'`{other} = "{each}"`' for each in values)
            what = f" needs {wanted}, got: {shown(value)}"
            hint = f"set `{other}`, or remove `{key}`"
            yield about(("adapt", key), what, hint, ("adapt", other))


def filter_has_noise_to_choose(config: Config) -> Iterator[Finding]:
    """With the planned noise in every round a filter admits the plan, no more."""
    if config.adapt.guarantee == "filter" and config.adapt.noise == "none":
        what = ': `filter` does nothing with `noise = "none"`'
        hint = (
            'choose what the noise follows, for example `noise = "convergence"`, or '
            "remove `guarantee`"
        )
        yield about(GUARANTEE, what, hint, NOISE)


def filter_is_proven(config: Config) -> Iterator[Finding]:
    """F1 prices sampled rounds by Rényi, F2 prices whole ones by squares."""
    sampled = config.federation.sampling_rate < 1.0
    if config.adapt.guarantee == "envelope" or not sampled:
        return
    if config.budget.unit == "client":
        what = (
            ": `filter` cannot be kept where clients are sampled: a client that is "
            "left out cannot know what the others' rounds cost"
        )
        hint = 'use `guarantee = "envelope"`, or `sampling_rate = 1`'
        yield about(GUARANTEE, what, hint, UNIT, RATE)
    elif config.privacy.accountant != "rdp":
        yield about(
            GUARANTEE,
            ': `filter` with `sampling_rate` below 1 needs `accountant = "rdp"`, '
            f"got: {shown(config.privacy.accountant)}",
            'set `accountant = "rdp"` under `[privacy]`, or use '
            '`guarantee = "envelope"`; no filter by `pld` is known to be sound',
            RATE,
            ACCOUNTANT,
        )


def nobody_is_left_out(config: Config) -> Iterator[Finding]:
    """A client pays for the planned rounds that coins left it out of."""
    sampled = config.federation.sampling_rate < 1.0
    if config.adapt.patience is not None and sampled and config.budget.unit == "client":
        what = (
            ": towers cannot end early where clients are sampled: a client that is "
            "left out cannot know which rounds were skipped"
        )
        hint = "remove `patience`, or set `sampling_rate = 1`"
        yield about(("adapt", "patience"), what, hint, UNIT, RATE)


def rounds_cover_the_plan(config: Config) -> Iterator[Finding]:
    """Fewer rounds than planned would leave a part of the budget unused."""
    most, planned = config.adapt.rounds_at_most, config.federation.rounds
    if most is not None and planned is not None and most < planned:
        what = f": expected at least `federation.rounds`, {planned}, got: {most}"
        hint = "raise it, or plan fewer rounds"
        yield about(("adapt", "rounds_at_most"), what, hint, ROUNDS)


def quantile_has_one_clip(config: Config) -> Iterator[Finding]:
    """A unit's one bit tells about one clip."""
    if config.adapt.clip == "quantile" and config.privacy.mechanism == "grouped":
        what = (
            ": `quantile` follows one clip per tower, and `grouped` has one per tier "
            "in a single tower"
        )
        hint = 'use `mechanism = "cascade"`, or `clip = "feedback"`'
        yield about(("adapt", "clip"), what, hint, MECHANISM)


def sketches_have_a_share(config: Config) -> Iterator[Finding]:
    """Without a share nothing is sketched."""
    if config.sketches.share == 0.0 and config.sketches != SketchesTable():
        what = "`[sketches]` does nothing with `share = 0`"
        hint = "set `share`, for example to 0.1, or remove the table"
        yield Finding(("sketches",), what, hint, (SHARE,))


def persons_can_be_sketched(config: Config) -> Iterator[Finding]:
    """Tables count persons, each of them as much as every other."""
    if config.sketches.share == 0.0:
        return
    budget = config.budget
    obstacles: dict[KeyPath, tuple[bool, str]] = {
        MECHANISM: (
            config.privacy.mechanism == "none",
            '`mechanism = "none"`: nothing is protected, so look at the data',
        ),
        UNIT: (
            budget.unit == "client",
            '`unit = "client"`: people are not what is counted there',
        ),
        ("budget", "classes"): (
            bool(budget.classes),
            "`budget.classes`: their records would count less than one person",
        ),
        ("budget", "profiles"): (
            bool(budget.profiles or budget.clients),
            "budgets that differ between sites: their people would count less than one",
        ),
    }
    for path, (holds, obstacle) in obstacles.items():
        if holds:
            what = f"`[sketches]` does not go with {obstacle}"
            yield Finding(SHARE, what, "remove one of the two", (path,))


def something_is_sketched(config: Config) -> Iterator[Finding]:
    """Persons are distinguished by their key; a built-in source has its own."""
    if config.sketches.share == 0.0 or config.data.built_in or config.data.person:
        return
    if config.sketches.weights == "overlap":
        what = (
            ": `overlap` needs `data.person`: without a key nobody can be found at two "
            "sites"
        )
        hint = 'name the column with the key of a person, or set `weights = "none"`'
        yield about(("sketches", "weights"), what, hint, PERSON)
    elif config.sketches.columns == 0:
        what = (
            "`[sketches]` has nothing to count: no people without `data.person`, and "
            "no columns with `columns = 0`"
        )
        hint = "set `columns`, or name the key of a person"
        yield Finding(SHARE, what, hint, (PERSON, ("sketches", "columns")))


RULES = (
    something_can_adapt, settings_do_something, filter_has_noise_to_choose,
    filter_is_proven, nobody_is_left_out, rounds_cover_the_plan, quantile_has_one_clip,
    sketches_have_a_share, persons_can_be_sketched, something_is_sketched,
)  # fmt: skip
