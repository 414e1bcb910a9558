# SPDX-License-Identifier: Apache-2.0
"""A programme as JSON, for sites that compute their own and compare.

Floats are written so that every bit comes back. Two machines that plan alike may still
differ in the last bits of a logarithm or a root, so a site compares structure, names
and whole numbers exactly and floats within a relative distance of 1e-9; then both sides
go on with the one that was sent, whose digest every query carries.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from lexfed.audit.entries.fields import ClosedModel
from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from lexfed.federation.programme.sequence import Programme
from lexfed.signing.strict_text import parse_json

CLOSE = 1e-9
"""Largest relative distance between floats of two machines."""


class _Sent(ClosedModel):
    """A programme with its version; unknown fields are errors at every depth."""

    version: int
    programme: Programme


def to_bytes(programme: Programme) -> bytes:
    """Return the RFC 8785 bytes of a programme."""
    return canonical_bytes(plain(programme))


def plain(programme: Programme) -> dict[str, Any]:
    """Return a programme as JSON values, with its version."""
    return _Sent(version=1, programme=programme).model_dump(mode="json")


def from_bytes(content: bytes) -> Programme:
    """Return the programme that was sent, or raise an `AuditError`.

    Guarantees:
        The same programme to the bit, hence with the same digest.
        An unknown field, a missing one or one of another type is refused.
    """
    parse_json(content)
    try:
        sent = _Sent.model_validate_json(content)
    except (ValidationError, ValueError) as error:
        raise AuditError("not a programme of this version of lexfed") from error
    if sent.version != 1 or to_bytes(sent.programme) != content:
        raise AuditError("not a programme in its only byte form")
    return sent.programme


def first_difference(own: Programme, sent: Programme) -> str:
    """Return the first difference of two programmes beyond rounding; empty if none.

    Guarantees:
        The clip of a grid is, to the bit, the charged clip of its releases.
    """
    # Through bytes: there a whole float and an integer are told apart by type alone.
    where = _differ(plain(from_bytes(to_bytes(own))), plain(sent), "programme")
    return where or _unpaid(own, sent)


def _unpaid(own: Programme, sent: Programme) -> str:
    """Return the grid that lets through more than its release is charged for."""
    for at, (ours, theirs) in enumerate(zip(own.stages, sent.stages, strict=True)):
        paid = [release.groups for release in theirs.releases if release is not None]
        blocks = zip(ours.blocks, theirs.blocks, strict=True)
        for place, (own_block, block) in enumerate(blocks):
            charged = {groups[place].clip for groups in paid} <= {block.grid.clip}
            error = block.grid.summation_error
            if not charged or error != own_block.grid.summation_error:
                return f"programme.stages[{at}].blocks[{place}].grid"
    return ""


def _differ(own: Any, sent: Any, where: str) -> str:
    if isinstance(own, Mapping) and isinstance(sent, Mapping):
        names = {**own, **sent}
        pairs = [(own.get(key), sent.get(key), f"{where}.{key}") for key in names]
    elif _is_list(own) and _is_list(sent):
        if len(own) != len(sent):
            return where
        both = enumerate(zip(own, sent, strict=True))
        pairs = [(a, b, f"{where}[{at}]") for at, (a, b) in both]
    elif isinstance(own, float) and isinstance(sent, float):
        return "" if math.isclose(own, sent, rel_tol=CLOSE, abs_tol=0.0) else where
    else:
        return "" if type(own) is type(sent) and own == sent else where
    places = (_differ(a, b, at) for a, b, at in pairs)
    return next(filter(None, places), "")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
