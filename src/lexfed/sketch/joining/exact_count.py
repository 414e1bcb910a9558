# SPDX-License-Identifier: Apache-2.0
"""The number of people that two organisations share, exactly but for a little noise.

Private set intersection by Diffie and Hellman, of which only the size is seen
(`lexfed.run.joining.set_intersection`): the asking side sends its keys x as H(x)^a. The
answering side returns them as H(x)^ab, in sorted order, beside its own keys y as
H(y)^b. The asking side takes a out of the first and counts how many are among the
second. It sees which numbers are equal, but not whose they are.

**Noise before the number is told.** Both sides know the same 2t made-up keys. The
asking side sends all of them. The answering side puts t + X of them beside its own
people, X two-sided geometric noise, so that the count that the asking side sees is

    people in both + t + X,    |X| <= t.

X exceeds t with probability below 2^-100, where it is cut; that is charged with the
sampler. One person of the answering side moves the count by one: pure epsilon, up to
that cut.

**Sizes.** Both sides fill up to one agreed number with random keys that nobody has.
Otherwise the number of keys, less the count, would tell without noise how many people
are *not* shared.

**Who is protected from whom.** The answering side's people, from the asking side: by X.
The asking side's people: nothing of them leaves but random-looking numbers, until that
side tells its count, and then with noise of its own, as the other side knows X.

**Both must follow the protocol** and only be curious; against a side that does not,
epsilon says nothing. Nobody can notice either of these:

- An asking side may raise every key to an exponent of its own. All points differ, as
  they should, and in the answer it tries each exponent: it learns *which* of the keys
  that it asks for, up to `elements` of any choice, the other side has, without noise.
  That needs one answer. Leaving out the made-up keys is the mild form: the count
  without noise.
- An answering side learns nothing from a question. But it may return one in k of its
  points, each under k exponents, beside one key of its choice under the same k. If that
  person is among them, with probability 1/k, the count moves by k instead of one. So a
  told number, whose noise is for one, shows that person then.

Sketches need no such trust: their noise is in them before they leave.
"""

import math
from dataclasses import dataclass

from lexfed import checks
from lexfed.errors import ConfigError, DataError, Problem
from lexfed.privacy.noise.laplace import reach_of, spread_within, two_sided_geometric
from lexfed.privacy.pure_epsilon import pure_release
from lexfed.privacy.releases import Release
from lexfed.privacy.scopes import up
from lexfed.randomness import RandomSource
from lexfed.sketch.estimates.intervals import CONFIDENCE
from lexfed.sketch.joining.keys import PersonKeys
from lexfed.sketch.joining.offered_sketch import require_within

LEAST_EPSILON, LARGEST_EPSILON = 0.01, 5.0
MOST_PEOPLE = 2**20


@dataclass(frozen=True)
class Agreement:
    """The public agreement of both sides.

    Attributes:
        size: neither side has more people than this.
        epsilon: what one person of a side pays whenever that side tells a number.

    Raises:
        ConfigError: for a budget too small to say anything, with the smallest useful.
        ValueError: for a number out of range.
    """

    size: int
    epsilon: float

    def __post_init__(self) -> None:
        checks.in_range(1, MOST_PEOPLE, size=self.size)
        checks.in_range(LEAST_EPSILON, LARGEST_EPSILON, epsilon=self.epsilon)
        if not _is_useful(self.size, self.epsilon):
            hint = f"allow ε = {_least_useful(self.size):g} or more"
            what = (
                f"with ε = {self.epsilon:g} for at most {self.size} people the noise "
                "hides whether half of them are shared or none"
            )
            raise ConfigError([Problem("joining", what, hint)])

    @property
    def scale(self) -> float:
        """Of the noise on a count."""
        return _scale(self.epsilon)

    @property
    def margin(self) -> int:
        """The bound t on the noise; there are 2t made-up keys."""
        return reach_of(self.scale)

    @property
    def elements(self) -> int:
        """Number of keys that each side sends, people and others."""
        return self.size + 2 * self.margin

    def event(self) -> Release:
        """Return the release that a side is charged for telling a count once.

        Guarantees:
            The noise is at least that of epsilon; one sample pays for where it is cut.
        """
        return pure_release("people shared with another", self.epsilon, None, samples=1)

    def reach(self, noises: int) -> int:
        """Return the 95 % error of a count with so many noises."""
        return spread_within((self.scale,) * noises, CONFIDENCE)


def drawn_noise(agreement: Agreement, source: RandomSource) -> int:
    """Return one noise, cut to the margin."""
    noise = int(two_sided_geometric(source, agreement.scale, 1)[0])
    return max(-agreement.margin, min(agreement.margin, noise))


def asking_keys(
    agreement: Agreement, people: PersonKeys, source: RandomSource
) -> list[str]:
    """Return everything that the asking side sends: people, made-up keys, filling."""
    return _filled(agreement, people, 2 * agreement.margin, source)


def answering_keys(
    agreement: Agreement, people: PersonKeys, source: RandomSource
) -> list[str]:
    """Return the answering side's keys with fresh noise; whoever calls this has paid.

    Guarantees:
        As many keys whoever is there and whatever the noise is.
    """
    made_up = agreement.margin + drawn_noise(agreement, source)
    return _filled(agreement, people, made_up, source)


def disagreement(where: str, what: str) -> DataError:
    """Return the error of a message that is not as agreed."""
    return DataError([Problem(where, what, "agree again, and begin anew")])


def _filled(
    agreement: Agreement, people: PersonKeys, made_up: int, source: RandomSource
) -> list[str]:
    require_within(people, agreement.size)
    keys = [f"person\0{text}" for text in people.texts]
    keys += [f"made up\0{number}" for number in range(made_up)]
    words = source.words(2 * (agreement.elements - len(keys))).reshape(-1, 2)
    return keys + [f"nobody\0{one:016x}{two:016x}" for one, two in words.tolist()]


def _scale(epsilon: float) -> float:
    return 1.0 / epsilon * (1.0 + 1e-14)


def _is_useful(size: int, epsilon: float) -> bool:
    return 2 * spread_within((_scale(epsilon),), CONFIDENCE) <= size


def _least_useful(size: int) -> float:
    """Return the smallest useful epsilon, rounded up; the largest is, for anybody."""
    low, high = LEAST_EPSILON, LARGEST_EPSILON
    while high > low * 1.0005:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _is_useful(size, middle) else (middle, high)
    return min(up(high, 3), LARGEST_EPSILON)
