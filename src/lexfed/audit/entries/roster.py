# SPDX-License-Identifier: Apache-2.0
"""The parties of a run: a blob that entry 0 cites, since entries have bounds.

    [{"count": 100000, "party": {"key": null, "role": "site", ...}}, ...]

Canonical JSON, one row for each party, in the order of the parties' canonical JSON.
Simulated sites have no keys, and those that are stated alike share a row. Logs of
before list the parties in entry 0 itself, which has room for about 480 with keys.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Annotated, Protocol

from pydantic import Field, TypeAdapter, ValidationError

from lexfed.audit.entries.fields import ClosedModel
from lexfed.audit.entries.opening import Genesis, Party
from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from lexfed.signing import strict_json

MAX_PARTIES = 1_000_000


class _Row(ClosedModel):
    count: Annotated[int, Field(ge=1, le=MAX_PARTIES)]
    party: Party


_ROWS = TypeAdapter(tuple[_Row, ...])


class BlobSource(Protocol):
    """A source of content by digest; `storage.blobs.Blobs` is one."""

    def get(self, digest: str) -> bytes:
        """Return the bytes, or raise `LexfedError`."""


def roster_bytes(parties: Iterable[Party]) -> bytes:
    """Return the blob that lists parties, in an order that tells nothing.

    Raises:
        AuditError: if there are more than a reader takes.
    """
    counts = {
        canonical_bytes(party.model_dump(mode="json")): count
        for party, count in Counter(parties).items()
    }
    rows = (b'{"count":%d,"party":%b}' % (counts[key], key) for key in sorted(counts))
    content = b"[" + b",".join(rows) + b"]"
    if sum(counts.values()) > MAX_PARTIES or len(content) > strict_json.MAX_BYTES:
        raise AuditError(
            f"a log has room for {MAX_PARTIES} parties in {strict_json.MAX_BYTES} "
            f"bytes, these are {sum(counts.values())} in {len(content)}",
            'simulated sites (`engine = "simulation"`) have no keys and share a row',
        )
    return content


def parties_of(genesis: Genesis, content: BlobSource) -> tuple[Party, ...]:
    """Return the parties of a run.

    Guarantees:
        There is one blob for the same parties, and each has at most a million.

    Raises:
        AuditError: if the blob is missing, or not such a list; if parties are listed
            in entry 0 as well.
    """
    if genesis.roster is None:
        return genesis.parties
    if genesis.parties:
        raise AuditError("entry 0 lists parties and cites a roster")
    blob = content.get(genesis.roster)
    strict_json.loads(blob)  # one meaning for every reader
    try:
        rows = _ROWS.validate_json(blob)
    except ValidationError as error:
        raise AuditError("the roster is not a list of parties") from error
    if sum(row.count for row in rows) > MAX_PARTIES:
        raise AuditError(f"the roster has more than {MAX_PARTIES} parties")
    parties = tuple(row.party for row in rows for _ in range(row.count))
    if roster_bytes(parties) != blob:
        raise AuditError("the roster is not in its canonical form")
    return parties
