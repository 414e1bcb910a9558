# SPDX-License-Identifier: Apache-2.0
"""Parties in a blob: as many as there are, in one form, for both verifiers alike."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import Genesis, Party, opening
from lexfed.audit.entries.opening import parties_of, roster_bytes
from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from support.audit.two_verifiers import compared, failed
from support.audit.worlds import COORDINATOR, SITES, FakeRun, fake_run, public_key

SIMULATED = Party(key=None, role="site")


class Stored(dict[str, bytes]):
    """Blobs in memory."""

    def get(self, digest: str, _: Any = None) -> bytes:
        return self[digest]


def genesis(**changes: Any) -> Genesis:
    entry = fake_run().drafts[0].entry
    assert isinstance(entry, Genesis)
    return entry.model_copy(update=changes)


def read(blob: bytes) -> tuple[Party, ...]:
    digest = "0" * 64
    return parties_of(genesis(parties=(), roster=digest), Stored({digest: blob}))


def in_a_blob(run: FakeRun, blob: bytes | None = None) -> FakeRun:
    """Move the parties of a run into a roster."""
    entry = run.drafts[0].entry
    assert isinstance(entry, Genesis)
    content = roster_bytes(entry.parties) if blob is None else blob
    run.edit(Genesis, parties=(), roster=run.put(content))
    return run


def test_parties_come_back_in_an_order_that_tells_nothing() -> None:
    keyed = [Party(key=public_key(site), role="site") for site in SITES]
    back = read(roster_bytes([SIMULATED, *keyed, SIMULATED]))
    assert sorted(back, key=str) == sorted([SIMULATED, *keyed, SIMULATED], key=str)
    assert roster_bytes(back) == roster_bytes(reversed(back))


def test_simulated_sites_share_a_row() -> None:
    assert len(roster_bytes([SIMULATED] * 100_000)) < 200
    assert read(roster_bytes([SIMULATED] * 100_000)) == (SIMULATED,) * 100_000


def test_entry_0_does_not_grow_with_the_sites() -> None:
    few, many = genesis(parties=(), roster="0" * 64), genesis()
    assert len(few.model_dump_json()) < len(many.model_dump_json())
    assert parties_of(many, Stored()) == many.parties


def test_too_many_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    blob = roster_bytes([SIMULATED] * 5 + [Party(key=None, role="aggregator")] * 5)
    monkeypatch.setattr(opening, "MAX_PARTIES", 9)
    with pytest.raises(AuditError, match="room for 9 parties"):
        roster_bytes([SIMULATED] * 10)
    with pytest.raises(AuditError, match="more than 9 parties"):
        read(blob)
    monkeypatch.undo()
    monkeypatch.setattr(opening, "MAX_BYTES", 9)
    with pytest.raises(AuditError, match="in 9 bytes"):
        roster_bytes([SIMULATED])


def test_a_list_in_entry_0_and_a_roster_are_refused() -> None:
    with pytest.raises(AuditError, match="lists parties and cites a roster"):
        parties_of(genesis(roster="0" * 64), Stored())


Rows = list[dict[str, Any]]


def _twice(rows: Rows) -> None:
    rows.append(rows[0])


def _backwards(rows: Rows) -> None:
    rows.reverse()


def _counted_twice(rows: Rows) -> None:
    rows[0]["count"] = 2


def _counted_never(rows: Rows) -> None:
    rows[0]["count"] = 0


def _too_many(rows: Rows) -> None:
    rows.append({"count": 10**6, "party": SIMULATED.model_dump(mode="json")})


def _unknown_field(rows: Rows) -> None:
    rows[0]["name"] = "north"


def _field_left_out(rows: Rows) -> None:
    del rows[0]["party"]["country"]


def _no_role(rows: Rows) -> None:
    rows[0]["party"]["role"] = "bystander"


def _coordinator(rows: Rows) -> None:
    rows[0]["party"]["key"] = public_key(COORDINATOR).model_dump()
    rows.sort(key=lambda row: canonical_bytes(row["party"]))


WRONG = (
    _twice, _backwards, _counted_twice, _counted_never, _too_many, _unknown_field,
    _field_left_out, _no_role, _coordinator,
)  # fmt: skip


@pytest.mark.parametrize("change", WRONG)
def test_both_verifiers_refuse_a_wrong_roster(
    change: Callable[[Rows], None], tmp_path: Path
) -> None:
    run = fake_run()
    entry = run.drafts[0].entry
    assert isinstance(entry, Genesis)
    rows = json.loads(roster_bytes(entry.parties))
    change(rows)
    folder = in_a_blob(run, canonical_bytes(rows)).write(tmp_path / "run")
    assert "separate keys" in failed(compared(folder))


@pytest.mark.parametrize("blob", [b"{}", b"[", b"[3]", b"[ ]", b'{"a":1,"a":2}'])
def test_both_verifiers_refuse_what_is_no_roster(blob: bytes, tmp_path: Path) -> None:
    folder = in_a_blob(fake_run(), blob).write(tmp_path / "run")
    assert "separate keys" in failed(compared(folder))


def test_both_verifiers_take_parties_from_a_roster(tmp_path: Path) -> None:
    run = fake_run()
    run.drafts.pop()  # its certificate speaks of entry 0 as it was
    rows = compared(in_a_blob(run).write(tmp_path / "run"))
    assert "separate keys" not in failed(rows)
    assert "participants" not in failed(rows)
    assert "blobs" not in failed(rows)


def test_both_verifiers_miss_a_roster_that_is_gone(tmp_path: Path) -> None:
    run = in_a_blob(fake_run())
    entry = run.drafts[0].entry
    assert isinstance(entry, Genesis)
    folder = run.write(tmp_path / "run")
    (folder / "log" / "blobs" / "sha256" / (entry.roster or "")).unlink()
    assert {"separate keys", "participants", "blobs"} <= set(failed(compared(folder)))
