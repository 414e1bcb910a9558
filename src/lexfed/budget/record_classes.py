# SPDX-License-Identifier: Apache-2.0
"""Classes of records with a stricter budget of their own, by a public rule.

Minors, or people with a rare diagnosis, may be owed more protection than the rest. A
class is a rule on columns and an epsilon below the record's. What a unit of the class
adds to a release is clipped as everybody's is and then multiplied by the class's scale
s <= 1. Noise, clips, rates, rounds and divisor stay those of the plan.

A unit belongs to a class if one of its rows may: a missing value counts as one for
which the rule holds. In several classes it has the smallest of their scales.

**Theorem K.** Let a run be the composition of the planned releases (Theorem C), and let
D, D' differ in one unit that is of class c on both sides: it is there or not
(add/remove), or its values change and it stays in c (replace-one). Then the run is, on
D and D', the composition of the planned releases with every clip times s_c.

*Proof*: only this unit's contribution changes, since the scale of every other unit is a
function of its own rows, and it has norm at most s_c C on either side. Noise and coins
have the same law, so each release is dominated by the Gaussian with clip s_c C. []

A unit that changes its class, from scale s to s', moves a sum by at most (s + s') C <=
2 C: that is the record's own guarantee under replace-one, and no more is said about it.
So what is protected better is what a member's record says, not whether it is a member.

**Isolation.** Whether a unit is a member moves every release. A rule that reads a
column of tier t therefore makes every release read tier t at least, and Theorem C then
holds word for word: caps and claims of the tiers up to t are those of all releases. The
label is in every release already, so a rule on the label raises nothing.

Rounding does not shrink with the scale: `Stage.rounding` is taken off first, so that a
member moves the integer sum by at most s_c C, all errors included.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lexfed.data.conditions import RowCondition, check_condition
from lexfed.data.encoding import Encoding
from lexfed.errors import ConfigError, Problem
from lexfed.privacy.accountants.calibration import PrivacyTarget, scale_to_budget
from lexfed.privacy.scopes import CountedRelease, releases_per_person, steps_of
from lexfed.tiers import Tier

_DIGITS = 10**6
"""Scales are rounded down to this many parts: they are public and read by people."""


@dataclass(frozen=True)
class RecordClass:
    """A class of records; everything about it is public.

    Attributes:
        condition: rule on rows that makes a unit a member.
        epsilon: of the whole run for a member, in the record's relation.
        reads: the most sensitive tier among the rule's columns; None for the label.
    """

    name: str
    condition: RowCondition
    epsilon: float
    reads: Tier | None


def record_class(
    name: str, condition: RowCondition, epsilon: float, encoding: Encoding
) -> RecordClass:
    """Return a class whose rule fits the declared columns and reads no identifier."""
    check_condition(condition, encoding.schema)
    columns = [one for one in condition.columns if one != encoding.schema.target]
    tiers = [encoding.tiers[column] for column in columns]
    if Tier.IDENTIFIER in tiers:
        where = f"`budget.classes`, class `{name}`"
        raise ConfigError([Problem(where, "its rule reads an identifier")])
    return RecordClass(name, condition, epsilon, max(tiers, default=None))


def class_tiers(classes: Sequence[RecordClass]) -> tuple[Tier, ...]:
    """Return the tiers of which a rule reads a column, least sensitive first."""
    return tuple(sorted({one.reads for one in classes if one.reads is not None}))


def raised_reads(reads: Tier | None, classes: Sequence[RecordClass]) -> Tier | None:
    """Return the most sensitive tier that a release reads where there are classes.

    Membership moves every release, so every release reads what the rules read.
    None stands for the label alone.
    """
    tiers = class_tiers(classes)
    return max(tiers if reads is None else (reads, *tiers), default=None)


def class_scale(
    releases: Sequence[CountedRelease], target: PrivacyTarget, sites_per_person: int = 1
) -> float:
    """Return the largest scale at which the plan's releases meet a class's target.

    Guarantees:
        The releases with clips times the scale cost at most the target.
        1 if they cost no more as they are.
        A scale larger by 2e-6 (exact Gaussian) or 3e-4 (otherwise) costs more.
    """
    paid = releases_per_person(releases, sites_per_person)
    # Noise times f at the same clip is the clip divided by f at the same noise.
    louder = scale_to_budget(steps_of(paid), target)
    if louder <= 1.0:
        return 1.0
    return int(_DIGITS / louder) / _DIGITS
