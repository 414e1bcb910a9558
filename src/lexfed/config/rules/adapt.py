# SPDX-License-Identifier: Apache-2.0
"""Rules that tie `[adapt]` to the rest: what cannot adapt, and what would do nothing.

Written like `data.py`.
"""

from collections.abc import Iterator

from lexfed.config.rules.budget import MECHANISM, RATE, UNIT
from lexfed.config.tables.root import AdaptTable, Config
from lexfed.config.text.findings import Finding
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import shown

NOISE: KeyPath = ("adapt", "noise")
GUARANTEE: KeyPath = ("adapt", "guarantee")
CLIP: KeyPath = ("adapt", "clip")
ROUNDS: KeyPath = ("adapt", "rounds_at_most")
ACCOUNTANT: KeyPath = ("privacy", "accountant")
STEP: KeyPath = ("federation", "learning_rate")


def something_can_adapt(config: Config) -> Iterator[Finding]:
    """Steering acts on noisy descent; the built-in rule has few rounds of its own."""
    if not config.adapt.adapting.active:
        return
    if config.privacy.mechanism == "none":
        yield Finding(
            ("adapt",),
            '`[adapt]` does nothing with `mechanism = "none"`: no noise is added',
            "remove the table, or choose another mechanism",
            (MECHANISM,),
        )
    elif config.follows_rule:
        yield Finding(
            ("adapt",),
            f"`[adapt]` does nothing without `learning_rate`: for "
            f"`{config.federation.model}` models a built-in rule sets the rounds",
            "set `learning_rate` under `[federation]` too, or remove the table",
            (STEP, MECHANISM, UNIT),
        )


_NEEDS = {
    "beta": ("noise", ("convergence", "feedback")),
    "decay": ("noise", ("convergence", "linear")),
    "window": ("noise", ("convergence", "linear")),
    "quantile": ("clip", ("quantile",)),
    "clip_rate": ("clip", ("quantile",)),
    "rounds_at_most": ("guarantee", ("filter",)),
}
"""Keys that do something only where another key has one of some values."""


def settings_do_something(config: Config) -> Iterator[Finding]:
    """A setting of a rule that is not chosen would be ignored."""
    for key, (other, values) in sorted(_NEEDS.items()):
        value = getattr(config.adapt, other)
        changed = getattr(config.adapt, key) != AdaptTable.model_fields[key].default
        if changed and value not in values:
            wanted = " or ".join(f'`{other} = "{each}"`' for each in values)
            yield Finding(
                ("adapt", key),
                f"`adapt.{key}` needs {wanted}, got: {shown(value)}",
                f"set `{other}`, or remove `{key}`",
                (("adapt", other),),
            )


def filter_has_noise_to_choose(config: Config) -> Iterator[Finding]:
    """With the planned noise in every round a filter admits the plan, no more."""
    if config.adapt.guarantee == "filter" and config.adapt.noise == "none":
        yield Finding(
            GUARANTEE,
            '`adapt.guarantee`: `filter` does nothing with `noise = "none"`',
            'choose what the noise follows, for example `noise = "convergence"`, or '
            "remove `guarantee`",
            (NOISE,),
        )


def filter_is_proven(config: Config) -> Iterator[Finding]:
    """F1 prices sampled rounds by Rényi, F2 prices whole ones by squares."""
    sampled = config.federation.sampling_rate < 1.0
    if config.adapt.guarantee == "envelope" or not sampled:
        return
    if config.budget.unit == "client":
        yield Finding(
            GUARANTEE,
            "`adapt.guarantee`: `filter` cannot be kept where clients are sampled: a "
            "client that is left out cannot know what the others' rounds cost",
            'use `guarantee = "envelope"`, or `sampling_rate = 1`',
            (UNIT, RATE),
        )
    elif config.privacy.accountant != "rdp":
        yield Finding(
            GUARANTEE,
            "`adapt.guarantee`: `filter` with `sampling_rate` below 1 needs "
            f'`accountant = "rdp"`, got: {shown(config.privacy.accountant)}',
            'set `accountant = "rdp"` under `[privacy]`, or use '
            '`guarantee = "envelope"`; no filter by `pld` is known to be sound',
            (RATE, ACCOUNTANT),
        )


def nobody_is_left_out(config: Config) -> Iterator[Finding]:
    """A client pays for the planned rounds that coins left it out of."""
    sampled = config.federation.sampling_rate < 1.0
    if config.adapt.patience is not None and sampled and config.budget.unit == "client":
        yield Finding(
            ("adapt", "patience"),
            "`adapt.patience`: towers cannot end early where clients are sampled: a "
            "client that is left out cannot know which rounds were skipped",
            "remove `patience`, or set `sampling_rate = 1`",
            (UNIT, RATE),
        )


def rounds_cover_the_plan(config: Config) -> Iterator[Finding]:
    """Fewer rounds than planned would leave a part of the budget unused."""
    most, planned = config.adapt.rounds_at_most, config.federation.rounds
    if most is not None and planned is not None and most < planned:
        yield Finding(
            ROUNDS,
            "`adapt.rounds_at_most`: expected at least `federation.rounds`, "
            f"{planned}, got: {most}",
            "raise it, or plan fewer rounds",
            (("federation", "rounds"),),
        )


def quantile_has_one_clip(config: Config) -> Iterator[Finding]:
    """A unit's one bit tells about one clip."""
    if config.adapt.clip == "quantile" and config.privacy.mechanism == "grouped":
        yield Finding(
            CLIP,
            "`adapt.clip`: `quantile` follows one clip per tower, and `grouped` has "
            "one per tier in a single tower",
            'use `mechanism = "cascade"`, or `clip = "feedback"`',
            (MECHANISM,),
        )


RULES = (
    something_can_adapt,
    settings_do_something,
    filter_has_noise_to_choose,
    filter_is_proven,
    nobody_is_left_out,
    rounds_cover_the_plan,
    quantile_has_one_clip,
)
