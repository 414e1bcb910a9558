# SPDX-License-Identifier: Apache-2.0
"""A recogniser, and the rule by which it recognises the values of a column.

A recogniser is a row of a table: a pattern, a check, the category that is meant, and
the share of the sample that has to fit. It speaks if

    at least `share` of the values present fit, and
    more different values fit than chance explains: a number that is
    right by chance 1 time in 10 must be right for 5 of 5 different values, or for 9
    of 10 (1 in 100,000),

or if its words stand in the column's name or description; then one value is enough.
A recogniser that `needs` its words says nothing without them. No sentence ever holds a
value.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import exp, log

from lexfed.law.tagger.suggestions import DescribedColumn, TagEvidence, evidence_for
from lexfed.law.tagger.words.normalisation import TEXT_LIMIT, fold, words

MISSING = frozenset(("", *"na n/a nan null none nil ? - . <na>".split()))  # noqa: SIM905
"""Spellings of a missing value in files."""
MOST_VALUES = 200
MOST_LETTERS = 400
"""Letters of a value that are looked at; the rest is not."""
MOST_EXAMINED = 64
"""Different values that recognisers look at."""
BY_CHANCE = 1.0001e-5
"""The largest chance at which the fitting values are not taken for an accident."""
_SEPARATORS = str.maketrans("", "", " .-/\u00a0\u2009")
_PROBE = 7
_LIST = re.compile(r"\s*[,;|]\s*")
_WHOLE_FLOAT = re.compile(r"-?\d+\.0")


@dataclass(frozen=True)
class Sample:
    """The values of a column as recognisers see them, without the missing ones.

    `total` counts the missing ones too; `name_words` has the words of the column's
    name and description.
    """

    values: tuple[str, ...]
    total: int
    name_words: frozenset[str]

    def mentions(self, context: frozenset[str]) -> bool:
        """Return True if one of some words is said; a longer one also in a compound."""
        if not self.name_words.isdisjoint(context):
            return True
        return _any_of(context).search(self._heard) is not None

    @cached_property
    def _heard(self) -> str:
        return " ".join(self.name_words)

    @cached_property
    def distinct(self) -> tuple[str, ...]:
        """The different values, in the order in which they first occur."""
        return tuple(dict.fromkeys(self.values))

    @cached_property
    def probe(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """A few values, and the first items of the lists that they may be."""
        step = max(1, len(self.distinct) // _PROBE)
        few = self.distinct[::step][: 2 * _PROBE]
        return few, tuple(map(_first_item, few))

    @cached_property
    def more(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """All values that are examined, and the first items of lists."""
        return self.examined, tuple(map(_first_item, self.examined))

    @cached_property
    def examined(self) -> tuple[str, ...]:
        """The different values that are looked at one by one, from the whole column."""
        return self.distinct[:: -(-len(self.distinct) // MOST_EXAMINED) or 1]

    @cached_property
    def folded(self) -> tuple[str, ...]:
        """The same in lower case, without diacritics."""
        return tuple(dict.fromkeys(map(fold, self.examined)))

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Number of times that each different value occurs."""
        return Counter(self.values)

    def share(self, fits: Callable[[str], bool]) -> tuple[float, int]:
        """Return the share of the values that fit, and the number of different ones."""
        fitting = [value for value in self.examined if fits(value)]
        number = sum(self.counts[value] for value in fitting)
        return number / max(1, self._weight), len(fitting)

    @cached_property
    def _weight(self) -> int:
        return sum(self.counts[value] for value in self.examined)


def _first_item(value: str) -> str:
    return _LIST.split(value.strip(" ,;|"), 1)[0]


@lru_cache(maxsize=256)
def _any_of(context: frozenset[str]) -> re.Pattern[str]:
    longer = sorted(word for word in context if len(word) > 3)
    return re.compile("|".join(map(re.escape, longer)) or "(?!)")


def sample_of(column: DescribedColumn) -> Sample:
    """Return the sample of a column; without values it is empty."""
    given = (column.values or ())[:MOST_VALUES]
    stripped = [value[:MOST_LETTERS].strip() for value in given]
    there = [value for value in stripped if value.lower() not in MISSING]
    if there and all(_WHOLE_FLOAT.fullmatch(value) for value in there):
        # A column of whole numbers with gaps, as a table of floats writes it.
        there = [value[:-2] for value in there]
    named = (*words(column.name), *words(column.description, TEXT_LIMIT))
    return Sample(tuple(there), len(given), frozenset(named))


def compact(value: str) -> str:
    """Return a number without the separators that people write into it."""
    return value.translate(_SEPARATORS).upper()


@dataclass(frozen=True)
class Recogniser:
    """One kind of value.

    Attributes:
        name: a word for the values, as part of a sentence.
        pattern: the shape of a whole value, separators included.
        weight: in units of log-odds.
        check: whether a value of that shape is valid; it is given without separators.
        share: the share of the sample that has to fit.
        chance: how often a random value of that shape is valid.
        context: words of the column's name or description that speak for it.
        needs: whether one of these words must be there.
        raw: whether the check is given the value with its separators.
        many: whether a cell may hold a list of such values.
        scheme: the check in words, for the sentence.
    """

    name: str
    pattern: re.Pattern[str]
    category: str
    weight: float
    check: Callable[[str], bool] | None = None
    share: float = 0.9
    chance: float = 0.1
    context: frozenset[str] = frozenset()
    needs: bool = False
    raw: bool = False
    many: bool = False
    scheme: str = ""

    def fits(self, value: str) -> bool:
        """Return True if one value has the shape and passes the check."""
        if self.many:
            return all(map(self._fits, _LIST.split(value.strip(" ,;|"))))
        return self._fits(value)

    def _fits(self, value: str) -> bool:
        if self.pattern.fullmatch(value) is None:
            return False
        if self.check is None:
            return True
        return self.check(value if self.raw else compact(value))

    def evidence(self, sample: Sample) -> TagEvidence | None:
        """Return this recogniser's evidence about a column, or None."""
        if self.needs and not sample.mentions(self.context):
            return None
        if not self._may(sample):
            return None
        helped = self.needs or sample.mentions(self.context)
        share, different = sample.share(self.fits)
        if share < self.share or not different:
            return None
        by_chance = chance_bound(different, len(sample.examined), self.chance)
        if not helped and by_chance > BY_CHANCE:
            return None
        return evidence_for(
            "values", self.category,
            self.weight + 0.5 * helped, self._sentence(helped),
        )  # fmt: skip

    def _may(self, sample: Sample) -> bool:
        """Return True if one of a few values fits; most columns end here.

        Where nine tenths of a column fit, one of seven values does but for a
        chance of 1 in ten million; recognisers that ask for less look at all values.
        """
        if self.share < 0.6:
            return any(map(self.pattern.fullmatch, sample.more[self.many]))
        if not any(map(self.pattern.fullmatch, sample.probe[self.many])):
            return False
        return self.check is None or any(map(self.fits, sample.probe[False]))

    def _sentence(self, helped: bool) -> str:
        how = f", {self.scheme}" if self.scheme else ""
        named = ", as the name or description says" if helped else ""
        return f"at least {self.share:.0%} of the sample are {self.name}{how}{named}"


def chance_bound(fitting: int, values: int, chance: float) -> float:
    """Return a bound on the chance that `fitting` of the values fit by accident.

    The bound of Chernoff and Hoeffding: exp(-n KL(share || chance)).
    """
    share = fitting / values
    if share <= chance:
        return 1.0
    exponent = share * log(share / chance)
    if share < 1.0:
        exponent += (1.0 - share) * log((1.0 - share) / (1.0 - chance))
    return exp(-values * exponent)


def regex(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern of digits and letters of ASCII only."""
    return re.compile(text, re.ASCII | flags)


def cues(text: str) -> frozenset[str]:
    """Return words as a set."""
    return frozenset(text.split())


def national(
    name: str,
    pattern: str,
    check: Callable[[str], bool] | None,
    context: str,
    *,
    chance: float = 0.1,
    weight: float = 5.0,
    share: float = 0.9,
    needs: bool = False,
    category: str = "direct_identifier",
) -> Recogniser:
    """Return the recogniser of a number that an authority gives to people."""
    return Recogniser(
        name, regex(pattern, re.IGNORECASE), category, weight, check, share, chance,
        cues(context), needs,
        scheme="with valid check digits" if check else "by their shape",
    )  # fmt: skip
