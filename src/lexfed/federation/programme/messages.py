# SPDX-License-Identifier: Apache-2.0
"""Messages between coordinator and sites.

A `Query` asks every site for one contribution to one release; a site answers with a
`Reply` (its sum on the integer grid) or a `Refusal` (nothing was computed). Messages
have one byte form, a safetensors file: an open format that cannot hold code.
"""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load, save

from lexfed.arrays import Floats, Integers
from lexfed.audit.entries.fields import ClosedModel, JsonCount
from lexfed.privacy.releases import Release

if TYPE_CHECKING:
    from lexfed.models.towers import Model

QueryKind = Literal[
    "labels",
    "moments",
    "residuals",
    "amplitudes",
    "gradient",
    "update",
    "metrics",
    "importance",
    "sketch",
]


class _QueryHead(ClosedModel):
    programme: str
    log: str
    round: JsonCount
    kind: QueryKind
    tower: JsonCount
    stage: JsonCount
    step: JsonCount
    release: dict[str, Any] | None


class _ReplyHead(ClosedModel):
    site: str
    round: JsonCount
    noised: bool
    receipt: str
    salt: str


class _RefusalHead(ClosedModel):
    site: str
    round: JsonCount
    reason: str


@dataclass(frozen=True)
class Query:
    """One round's question: everything a site needs and everything it is charged for.

    Attributes:
        programme: hash of the programme both sides agreed on before the first round.
        log: origin of the run's audit log, which receipts are bound to.
        round: number of the round, from 1; `step` is its place in the stage, from 0.
        release: the charge for the round; None without privacy.
        model: released so far; the towers below `tower` are final.
        arrays: further released or public numbers that the kind needs.
    """

    programme: str
    log: str
    round: int
    kind: QueryKind
    tower: int
    stage: int
    step: int
    release: Release | None
    model: "Model"
    arrays: dict[str, Floats]

    def to_bytes(self) -> bytes:
        """Return the message as bytes."""
        from lexfed.models import towers

        head = {name: getattr(self, name) for name in _QueryHead.model_fields}
        head["release"] = None if self.release is None else self.release.to_json()
        return towers.to_bytes(self.model, head, self.arrays)

    @classmethod
    def from_bytes(cls, content: bytes) -> "Query":
        """Return the message that was sent; any exception for bytes that are no query.

        Guarantees:
            Every value beside the model and the arrays is of its own type: no truth
            value or fraction stands for a number, and nothing empty for a release.
        """
        from lexfed.models import towers

        model, plain, arrays = towers.from_bytes(content)
        head = vars(_QueryHead.model_validate(plain))
        if head["release"] is not None:
            head["release"] = Release.from_json(head["release"])
        return cls(**head, model=model, arrays=arrays)


@dataclass(frozen=True)
class Reply:
    """A site's sum of clipped contributions on the integer grid.

    Attributes:
        noised: whether the site has added the release's noise itself.
        receipt: the site's signed statement about this round; empty where no single
            site answers, because all are simulated as one.
        salt: opens the receipt's commitment to the sum; empty without a receipt.
        of: the contributing sites; empty for the one that answers alone.
    """

    site: str
    round: int
    total: Integers
    noised: bool
    receipt: bytes = b""
    salt: bytes = b""
    of: tuple[str, ...] = ()

    @property
    def receipts(self) -> Mapping[str, bytes]:
        """The signed receipt of each site in the sum."""
        return {self.site: self.receipt}

    @property
    def content(self) -> bytes:
        """The sum as sites sign it: eight bytes a number, little-endian."""
        return self.total.astype("<i8").tobytes()


@dataclass(frozen=True)
class Refusal:
    """A site's statement that it computed nothing, and why."""

    site: str
    round: int
    reason: str


LONGEST_RECEIPT = 2**16
"""Bytes of the longest receipt: it is an entry of a log, which are no longer."""


def longest_answer(dimension: int) -> int:
    """Return the largest length of an answer in bytes: sum, receipt and the rest."""
    return 8 * dimension + 2 * LONGEST_RECEIPT


def answer_to_bytes(answer: Reply | Refusal) -> bytes:
    """Return a site's answer as bytes."""
    head: dict[str, Any] = {"site": answer.site, "round": answer.round}
    total: NDArray[Any] = np.zeros(0, dtype=np.int64)
    if isinstance(answer, Reply):
        head["noised"] = answer.noised
        head["receipt"] = base64.b64encode(answer.receipt).decode()
        head["salt"] = base64.b64encode(answer.salt).decode()
        total = answer.total
    else:
        head["reason"] = answer.reason
    return save({"total": total}, metadata={"lexfed": json.dumps(head, sort_keys=True)})


def answer_from_bytes(content: bytes) -> Reply | Refusal:
    """Return a site's answer; any exception for bytes that are none."""
    size = int.from_bytes(content[:8], "little")
    head = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["lexfed"])
    if "reason" in head:
        return Refusal(**vars(_RefusalHead.model_validate(head)))
    reply = _ReplyHead.model_validate(head)
    return Reply(
        site=reply.site,
        round=reply.round,
        total=load(content)["total"],
        noised=reply.noised,
        receipt=base64.b64decode(reply.receipt),
        salt=base64.b64decode(reply.salt),
    )
