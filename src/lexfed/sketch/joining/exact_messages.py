# SPDX-License-Identifier: Apache-2.0
"""Files of the exact way: a question, its secret, an answer.

    question   from the asking side: what was agreed, and its keys in disguise
    secret     stays there: what takes the disguise off again
    answer     from the answering side: the same keys, and its own, in disguise

Each is eight letters, the length of a header, the header as canonical JSON, and the
parts that the header gives the lengths of. There is one byte form for each. An answer
names the question by its hash, and so does the secret: they belong together or not.
"""

import hashlib
import struct
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from lexfed.canonical import canonical_bytes
from lexfed.sketch.joining.exact_count import MOST_PEOPLE, Agreement, disagreement
from lexfed.sketch.joining.keys import FORM

ExactMessageKind = Literal["question", "secret", "answer"]

_MAGIC = {"question": b"lexfedjq", "secret": b"lexfedjs", "answer": b"lexfedja"}
_PREFIX = struct.Struct("<8sI")
_MOST_HEADER = 4096
# Two lists of keys in disguise, less than 40 bytes each, the made-up ones included.
MOST_BYTES = 2 * 40 * (MOST_PEOPLE + 2**14) + _MOST_HEADER + _PREFIX.size
"""No file is longer; nothing more is read."""


@dataclass(frozen=True)
class ExactMessage:
    """One file.

    Attributes:
        kind: which.
        size: agreed bound on people.
        epsilon: agreed price.
        question: SHA-256 of the question's file; empty in the question itself.
        people: how many the asking side has; 0 in what leaves.
        data_set: name of the asking side's file, for its ledger; empty in what leaves.
        parts: messages of the protocol, or the secret.
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
        """Refuse a message that was made for another agreement.

        Raises:
            DataError: naming what differs.
        """
        for name, theirs, ours in (
            ("size", self.size, agreement.size),
            ("epsilon", self.epsilon, agreement.epsilon),
        ):
            if theirs != ours:
                raise disagreement(
                    self.kind, f"its `{name}` is {theirs:g}, not {ours:g}"
                )


def read_message(data: bytes, kind: ExactMessageKind, parts: int) -> ExactMessage:
    """Read a file, which must be of that kind and have that many parts.

    Guarantees:
        Bytes that are read are, written again, the same bytes.

    Raises:
        DataError: if it is anything else.
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
    found = []
    for size in header.parts:
        found.append(data[start : start + size])
        start += size
    message = ExactMessage(
        kind,
        header.size,
        header.epsilon,
        header.question,
        tuple(found),
        header.people,
        header.data_set,
    )
    if message.to_bytes() != data:
        raise disagreement(kind, "it is cut off, or not written in its only byte form")
    return message


class _Header(BaseModel):
    """The head of a file, before its parts; unknown fields are errors."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False
    )

    version: Literal[1]
    size: int
    epsilon: float
    keys: str
    question: str
    people: int
    data_set: str
    parts: list[int]
