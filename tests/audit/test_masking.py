# SPDX-License-Identifier: Apache-2.0
"""Records of masked sums mean to auditors what they mean to those who made them."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from lexfed.audit.entries.masking_record import (
    MaskingRecord,
    MaskingTerms,
    aggregation_of,
    masking_name,
    roster_of,
    session_of,
)
from lexfed.canonical import canonical_bytes
from lexfed.errors import AuditError
from lexfed.secagg.mask_sessions.round_record import RoundRecord
from support.secagg.secure_sums import Epoch, identity, names, setting

SITES = names(5)


@cache
def made() -> RoundRecord:
    """The record of a sum of four sites of five, of whom three signed."""
    epoch = Epoch(setting(5, colluders=0, least=3, epoch=7))
    server = epoch.set_up()
    epoch.round(server, SITES[:4], 2, unsigned=SITES[:1])
    return server.record()


def plain() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(made().to_bytes())
    return found


def changed(change: Callable[[dict[str, Any]], Any]) -> bytes:
    record = plain()
    change(record)
    return canonical_bytes(record)


def test_auditors_read_what_was_signed_as_those_who_signed_it() -> None:
    theirs, ours = made(), MaskingRecord.parse(made().to_bytes())
    assert ours.list == theirs.signed_list.hex()
    assert ours.threshold == theirs.quorum == 3
    assert ours.surviving == set(SITES[:4])
    assert ours.roster == roster_of({n: identity(n).public for n in SITES})
    assert set(ours.consents) == set(SITES[1:4])
    for name in ours.consents:
        assert ours.message(name) == theirs.signed_by(name)
        assert ours.signed_by(name, identity(name).public)
        assert not ours.signed_by(name, identity(SITES[0]).public)
        assert not ours.signed_by(name, b"no key")


def test_what_a_round_says_of_its_record_follows_from_it() -> None:
    found = aggregation_of(made().to_bytes())
    assert (found.protocol, found.threshold, found.survivors) == ("masking", 3, 4)
    assert (found.cohort, found.epoch) == (5, 7)
    assert found.list == made().signed_list.hex()


def test_sessions_and_names_are_those_of_one_log() -> None:
    programme = "ab" * 32
    one = session_of("audit.example/a", programme)
    assert len(one) == 32
    assert one != session_of("audit.example/b", programme)
    assert one != session_of("audit.example/a", "cd" * 32)
    assert masking_name("0123456789abcdef" * 4) == "0123456789abcdef" * 2


OTHER = "ab" * 32


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("session", OTHER), ("epoch", 8), ("policy", OTHER), ("server", OTHER),
        ("roster", OTHER), ("round", 1), ("model", OTHER), ("key_list", OTHER),
        ("names", ["site000", "site001", "site002", "site003", "site005"]),
        ("cohort", [0, 1, 2, 3]), ("survivors", [1, 2, 3]),
    ],
)  # fmt: skip
def test_every_field_is_under_every_signature(field: str, value: Any) -> None:
    record = MaskingRecord.parse(changed(lambda r: r.update({field: value})))
    assert record.message("site001") != made().signed_by("site001")
    assert not any(record.signed_by(n, identity(n).public) for n in record.consents)


@pytest.mark.parametrize("field", sorted(MaskingTerms.model_fields))
def test_terms_are_under_every_signature(field: str) -> None:
    value = 16 if field == "bits" else plain()["terms"][field] + 1
    record = MaskingRecord.parse(changed(lambda r: r["terms"].update({field: value})))
    assert not any(record.signed_by(n, identity(n).public) for n in record.consents)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda r: r.pop("model"), "`model`: field required"),
        (lambda r: r.update(more=1), "`more`"),
        (lambda r: r.update(format="lexfed-secagg-round-v2"), "`format`"),
        (lambda r: r["names"].reverse(), "not in order"),
        (lambda r: r["survivors"].insert(0, 0), "not in order"),
        (lambda r: r["survivors"].append(5), "not in its sum or cohort"),
        (lambda r: r["cohort"].append(5), "not in its sum or cohort"),
        (lambda r: r["cohort"].remove(3), "not in its sum or cohort"),
        (lambda r: r["survivors"].remove(1), "not in its sum or cohort"),
        (lambda r: r["consents"].update(site004="A" * 86 + "=="), "not in its sum"),
        (lambda r: r["consents"].update(site001="A" * 86), "`consents.site001`"),
        (lambda r: r["terms"].update(bits=31), "`terms.bits`"),
    ],
)  # fmt: skip
def test_records_of_another_form_are_refused(
    change: Callable[[dict[str, Any]], Any], words: str
) -> None:
    with pytest.raises(AuditError, match=words):
        MaskingRecord.parse(changed(change))


def test_one_record_has_one_spelling() -> None:
    with pytest.raises(AuditError, match="not canonical"):
        MaskingRecord.parse(made().to_bytes() + b"\n")
    with pytest.raises(AuditError, match="too many"):
        MaskingRecord.parse(b" " * ((1 << 24) + 1))


def test_a_signature_has_one_spelling() -> None:
    signature = plain()["consents"]["site001"]
    odd = (
        signature[:-3] + {"A": "B", "Q": "R", "g": "h", "w": "x"}[signature[-3]] + "=="
    )
    record = MaskingRecord.parse(changed(lambda r: r["consents"].update(site001=odd)))
    with pytest.raises(AuditError, match="more than one spelling"):
        record.signed_by("site001", identity("site001").public)
