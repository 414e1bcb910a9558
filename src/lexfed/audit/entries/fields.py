# SPDX-License-Identifier: Apache-2.0
"""Field types that all entries share: digests, decimal strings, times, code words.

A log cannot be edited, so nothing that may have to be erased is in it. Text and large
things are blobs that entries cite by digest, words are code words (`interrupted`).
Numbers that matter are the shortest decimal strings that give the same double back;
whoever computed one has rounded it against us (epsilon and delta up).
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from operator import is_
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, Field, StringConstraints, ValidationError

from lexfed.errors import AuditError
from lexfed.terms import DIGEST

Digest = Annotated[str, StringConstraints(pattern=f"^{DIGEST}$")]
"""SHA-256 in hexadecimal."""

DecimalText = Annotated[
    str,
    StringConstraints(
        pattern=r"^(0|[1-9][0-9]{0,20})(\.[0-9]{1,25})?(e[+-][0-9]{1,3})?$"
    ),
]
"""A number that is not negative, written so that no parser changes it."""

TimeText = Annotated[
    str,
    StringConstraints(
        pattern=r"^[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]Z$"
    ),
]
DateText = Annotated[str, StringConstraints(pattern=r"^[0-9]{4}-[01][0-9]-[0-3][0-9]$")]
CodeWord = Annotated[
    str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:()+-]{0,95}$")
]
"""A word of a vocabulary: no spaces, so no sentences."""

LogOrigin = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._~/-]{1,200}$")]
"""Name of a log: a URL without its scheme."""

RunId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
"""Random name of a run; the last part of its log's origin."""

IdempotencyKey = Annotated[
    str, StringConstraints(pattern=r"^[a-z0-9][A-Za-z0-9._/-]{0,127}$")
]
"""Idempotency key: the same key names the same event, whoever asks twice."""

TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"

JsonCount = Annotated[int, Field(ge=0, lt=2**53)]
Base64Text = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9+/]{1,4096}={0,2}$")]


def moment(text: str) -> datetime:
    """Return the time that a `TimeText` says; `ValueError` if no calendar has it."""
    return datetime.strptime(text, TIME_FORMAT).replace(tzinfo=UTC)


def decimal(value: float) -> str:
    """Return the shortest decimal string that gives the same double back.

    >>> decimal(2.0), decimal(1e-6), decimal(0.1)
    ('2.0', '1e-06', '0.1')
    """
    return repr(float(value))


def malformed(where: str, error: ValidationError) -> AuditError:
    """Return the error that names the first field that does not fit, and why."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return AuditError(f"{where}: `{place}`: {first['msg'].lower()}")


class ClosedModel(BaseModel, extra="forbid", frozen=True, strict=True):
    """A closed, immutable piece of an entry: an unknown field is an error."""


def later_field() -> Any:
    """Return a field that entries did not hold from the beginning.

    Guarantees:
        Where it is None it is left out, so that the bytes are those of before.
    """
    return Field(default=None, exclude_if=partial(is_, None))


class Entry(ClosedModel):
    """One kind of entry; `kind` and `version` make its predicate type.

    Attributes:
        artefacts: what the entry is about, and the fields that hold their SHA-256.
    """

    kind: ClassVar[str]
    version: ClassVar[int] = 1
    artefacts: ClassVar[Mapping[str, str]]

    def __init_subclass__(
        cls, *, kind: str, artefacts: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        super().__init_subclass__()
        cls.kind, cls.artefacts = kind, artefacts

    def subjects(self) -> tuple[tuple[str, str], ...]:
        """Return the artefacts that the entry is about, by name and SHA-256."""
        digests = ((name, getattr(self, part)) for name, part in self.artefacts.items())
        return tuple((name, digest) for name, digest in digests if digest is not None)
