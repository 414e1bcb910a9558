# SPDX-License-Identifier: Apache-2.0
"""The number of people that two organisations share, exactly but for a little noise.

Private set intersection by Diffie and Hellman, with only the size in the result
(`lexfed.run.joining.set_intersection`): the asking side sends its keys x as H(x)^a. The
answering side returns them as H(x)^ab, in sorted order, beside its own keys y as
H(y)^b. The asking side takes a out of the first and counts how many are among the
second. Made-up keys that both know, as many on the answering side as noise says, hide
the count before it is known (docs/theory/sketches.md#counts-and-products).

**Both must follow the protocol** and only be curious; against a side that does not,
epsilon says nothing, and nobody can notice (docs/guide/overlap.md).

    question   from the asking side: the agreement, and its keys in disguise
    secret     stays there: what takes the disguise off again
    answer     from the answering side: the same keys, and its own, in disguise

Files are eight letters, the length of a header, the header as canonical JSON, and the
parts whose lengths it states; answer and secret name the question by its hash.
"""

import hashlib
import struct
from dataclasses import dataclass
from functools import partial
from typing import Literal

from pydantic import ValidationError

from lexfed import checks
from lexfed.canonical import canonical_bytes
from lexfed.errors import DataError, Problem
from lexfed.privacy.noise.laplace import reach_of, spread_within, two_sided_geometric
from lexfed.privacy.pure_epsilon import pure_release
from lexfed.privacy.releases import Release
from lexfed.randomness import RandomSource
from lexfed.sketch.estimates.intervals import CONFIDENCE
from lexfed.sketch.joining.keys import FORM, PersonKeys
from lexfed.sketch.joining.offered_sketch import FileHeader, require_within
from lexfed.sketch.joining.terms import LARGEST_EPSILON, require_useful

_LEAST_EPSILON = 0.01
MOST_PEOPLE = 2**20

ExactMessageKind = Literal["question", "secret", "answer"]

_MAGIC = {"question": b"lexfedjq", "secret": b"lexfedjs", "answer": b"lexfedja"}
_PREFIX = struct.Struct("<8sI")
_MOST_HEADER = 4096
# Two lists of keys in disguise, less than 40 bytes each, the made-up ones included.
MOST_BYTES = 2 * 40 * (MOST_PEOPLE + 2**14) + _MOST_HEADER + _PREFIX.size
"""No file is longer; nothing more is read."""


@dataclass(frozen=True)
class Agreement:
    """The public agreement: at most `size` people a side, and the price of a number."""

    size: int
    epsilon: float

    def __post_init__(self) -> None:
        checks.in_range(1, MOST_PEOPLE, size=self.size)
        checks.in_range(_LEAST_EPSILON, LARGEST_EPSILON, epsilon=self.epsilon)
        useful = partial(_is_useful, self.size)
        require_useful(self.size, self.epsilon, _LEAST_EPSILON, useful)

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
    """Return the answering side's keys with fresh noise; the caller has paid.

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


@dataclass(frozen=True)
class ExactMessage:
    """One file, of a kind, with the agreed size and price.

    `question` is SHA-256 of the question's file, empty in the question itself. `parts`
    are messages of the protocol, or the secret. `people` and `data_set`, for the asking
    side's ledger, are empty in files that leave.
    """

    kind: ExactMessageKind
    size: int
    epsilon: float
    question: str
    parts: tuple[bytes, ...]
    people: int = 0
    data_set: str = ""

    @property
    def agreement(self) -> Agreement:
        """The agreement that the file states."""
        return Agreement(self.size, self.epsilon)

    def to_bytes(self) -> bytes:
        """Return the file."""
        header = _Header(
            version=1,
            size=self.size,
            epsilon=self.epsilon,
            keys=FORM,
            question=self.question,
            people=self.people,
            data_set=self.data_set,
            parts=[len(part) for part in self.parts],
        )
        head = canonical_bytes(header.model_dump(mode="json"))
        prefix = _PREFIX.pack(_MAGIC[self.kind], len(head))
        return b"".join((prefix, head, *self.parts))

    @property
    def hash(self) -> str:
        """SHA-256 of the file."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def check_agreed(self, agreement: Agreement) -> None:
        """Refuse a message made for another agreement, naming the difference."""
        for name in ("size", "epsilon"):
            theirs, ours = getattr(self, name), getattr(agreement, name)
            if theirs != ours:
                what = f"its `{name}` is {theirs:g}, not {ours:g}"
                raise disagreement(self.kind, what)


def read_message(data: bytes, kind: ExactMessageKind, parts: int) -> ExactMessage:
    """Read a file of that kind and number of parts.

    Guarantees:
        Bytes that are read are, written again, the same bytes.
    """
    if len(data) < _PREFIX.size or not data.startswith(_MAGIC[kind]):
        raise disagreement(kind, f"these bytes are no {kind} of a joining")
    _, length = _PREFIX.unpack_from(data)
    if length > _MOST_HEADER:
        raise disagreement(kind, "its header is too long")
    start = _PREFIX.size + length
    try:
        header = _Header.model_validate_json(data[_PREFIX.size : start])
        Agreement(header.size, header.epsilon)
    except (ValidationError, ValueError) as error:
        raise disagreement(kind, "its header is not one of this version") from error
    if header.keys != FORM:
        raise disagreement(kind, "its keys are in another form")
    if len(header.parts) != parts or min(header.parts) < 0:
        raise disagreement(kind, "it does not have its parts")
    contents = []
    for size in header.parts:
        contents.append(data[start : start + size])
        start += size
    stated = header.model_dump(exclude={"version", "keys", "parts"})
    message = ExactMessage(kind, parts=tuple(contents), **stated)
    if message.to_bytes() != data:
        raise disagreement(kind, "it is cut off, or not written in its only byte form")
    return message


class _Header(FileHeader):
    question: str
    people: int
    data_set: str
    parts: list[int]
