# SPDX-License-Identifier: Apache-2.0
"""Receipts: forged, missing, replayed or too many of them break the count (row 11)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.entries import (
    Aggregation,
    ChargedEvent,
    Participation,
    PolicyEntry,
    RoundEntry,
    receipts,
)
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.verify import Check, Status, verify_run
from lexfed.audit.verify.participation import charges_signed_for
from lexfed.signing.keys import Signer
from support.audit.worlds import (
    ORIGIN,
    SALT,
    SITES,
    Change,
    FakeRun,
    fake_run,
    receipt_of,
    signer,
    spoiled,
)

ROUND_2 = 5
"""Index of the second round."""


def checked(run: FakeRun, folder: Path) -> dict[str, Check]:
    return {c.claim: c for c in verify_run(run.write(folder / "run")).checks}


def event_of(run: FakeRun, number: int) -> ChargedEvent | None:
    entry = run.of(RoundEntry)[number - 1].entry
    assert isinstance(entry, RoundEntry)
    return entry.event


def signed(
    sites: tuple[Signer, ...] = SITES[:3], stated: int = 3, number: int = 2, **says: Any
) -> Change:
    """Let these sites sign the receipts of round 2, with other content."""

    def change(run: FakeRun) -> None:
        event = event_of(run, 2)
        made = [receipts.sign(receipt_of(number, event, **says), s) for s in sites]
        listed = Participation(
            sites=stated, receipts="open", digest=run.put(receipts.encode(made))
        )
        run.edit(RoundEntry, 1, participation=listed)

    return change


def one_differs(**says: Any) -> Change:
    def change(run: FakeRun) -> None:
        event = event_of(run, 2)
        made = [receipts.sign(receipt_of(2, event), site) for site in SITES[:2]]
        made.append(receipts.sign(receipt_of(2, event, **says), SITES[2]))
        listed = Participation(
            sites=3, receipts="open", digest=run.put(receipts.encode(made))
        )
        run.edit(RoundEntry, 1, participation=listed)

    return change


def participation(**fields: Any) -> Change:
    def change(run: FakeRun) -> None:
        entry = run.of(RoundEntry)[1].entry
        assert isinstance(entry, RoundEntry)
        new = Participation.model_validate({**dict(entry.participation), **fields})
        run.edit(RoundEntry, 1, participation=new)

    return change


def blob(content: bytes) -> Change:
    def change(run: FakeRun) -> None:
        participation(digest=run.put(content))(run)

    return change


STRANGER = signer("stranger")
SPOILED: dict[str, tuple[Change, str]] = {
    "one is missing": (signed(SITES[:2]), "states 3 sites, 2 of them signed"),
    "none is there": (signed(()), "states 3 sites, 0 of them signed"),
    "more than stated": (signed(stated=2), "states 2 sites, 3 of them signed"),
    "a stranger signs": (signed((*SITES[:2], STRANGER)), "not that of a site"),
    "the site has no key here": (signed((*SITES[:2], SITES[4])), "not that of a site"),
    "of another round": (signed(number=3), "`round` is not that of the round"),
    "of an earlier round": (signed(number=1), "`round` is not that of the round"),
    "of another run": (signed(run="f" * 16), "`run` is not that of the round"),
    "of another log": (signed(log=f"x{ORIGIN}"), "`log` is not that of the round"),
    "of another programme": (signed(programme="0" * 64), "`programme` is not that"),
    "another clip": (signed(clips=("2.0",)), "`clips` is not that of the round"),
    "a round nobody logged": (signed(charged=3), "charged for 3 releases, the log"),
    "not charged": (signed(charged=1), "was not charged for it"),
    "one was asked otherwise": (one_differs(query="0" * 64), "different questions"),
    "one saw no question": (one_differs(query=None), "`query` is hashed exactly"),
    "without receipts": (participation(receipts="none", digest=None), "no receipts"),
    "a list without a digest": (participation(digest=None), "do not fit together"),
    "a digest without a list": (participation(receipts="none"), "do not fit together"),
    "the number is kept back": (participation(sites=None), "how many sites took part"),
    "no list": (blob(b"{}"), "expected a JSON array"),
    "no envelopes": (blob(b'["AAAA"]'), "not JSON"),
    "the list is gone": (participation(digest="0" * 64), "is missing"),
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILED)
def test_receipts_that_do_not_back_the_count(name: str, tmp_path: Path) -> None:
    change, message = SPOILED[name]
    found = checked(spoiled(change), tmp_path)["participants"]
    assert found.status is Status.FAIL, found
    assert message in found.detail
    assert found.index in (ROUND_2, None)


def test_without_noise_receipts_hash_no_question(tmp_path: Path) -> None:
    run = fake_run(mechanism="none")
    signed(query="0" * 64)(run)
    found = checked(run, tmp_path)["participants"]
    assert (found.status, found.index) == (Status.FAIL, ROUND_2)


# Where participants are secret

SECRET: dict[str, Any] = {"unit": "client", "sampling_rate": 0.1}


def test_sealed_receipts_are_checked_where_they_are_opened(tmp_path: Path) -> None:
    found = checked(fake_run(**SECRET), tmp_path)["participants"]
    assert (found.status, found.detail) == (Status.OK, "12 receipts of 3 sites")


def test_sealed_receipts_may_stay_closed(tmp_path: Path) -> None:
    run = fake_run(**SECRET)
    del run.files["sealed/round-2.json"]
    found = checked(run, tmp_path)["participants"]
    assert found.status is Status.NOTE
    assert "1 round sealed and not opened" in found.detail


def test_a_sealed_folder_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = fake_run(**SECRET).write(tmp_path / "run")
    (folder / "sealed").rename(tmp_path / "elsewhere")
    (folder / "sealed").symlink_to(tmp_path / "elsewhere")
    found = {c.claim: c for c in verify_run(folder).checks}["participants"]
    assert found.status is Status.FAIL


def sealed_again(run: FakeRun) -> None:
    blob = receipts.encode([receipts.sign(receipt_of(2, event_of(run, 2)), SITES[0])])
    run.files["sealed/round-2.json"] = receipts.seal(blob, SALT)[1]


def sealed_forged(run: FakeRun) -> None:
    made = [receipts.sign(receipt_of(3, event_of(run, 2)), SITES[0])]
    commitment, sealed = receipts.seal(receipts.encode(made), SALT)
    run.files["sealed/round-2.json"] = sealed
    participation(digest=commitment)(run)


OPENED: dict[str, tuple[Change, str]] = {
    "another list": (sealed_again, "not what the entry commits to"),
    "a forged list": (sealed_forged, "`round` is not that of the round"),
    "the number is shown": (participation(sites=3), "keeps secret"),
    "the list is shown": (participation(receipts="open"), "keeps secret"),
}


@pytest.mark.parametrize("name", OPENED)
def test_secret_participants_stay_secret_and_honest(name: str, tmp_path: Path) -> None:
    change, message = OPENED[name]
    found = checked(spoiled(change, **SECRET), tmp_path)["participants"]
    assert (found.status, found.index) == (Status.FAIL, ROUND_2)
    assert message in found.detail


# Secure aggregation


def aggregated(protocol: str, threshold: int | None, survivors: int | None) -> Change:
    def change(run: FakeRun) -> None:
        run.edit(PolicyEntry, aggregation="secagg-v1")
        used = Aggregation(protocol="secagg-v1", threshold=2, survivors=3)
        for number in range(4):
            run.edit(RoundEntry, number, aggregation=used)
        wrong = Aggregation(protocol=protocol, threshold=threshold, survivors=survivors)
        run.edit(RoundEntry, 1, aggregation=wrong)

    return change


def test_enough_sites_survive_secure_aggregation(tmp_path: Path) -> None:
    run = spoiled(aggregated("secagg-v1", 2, 2))
    assert checked(run, tmp_path)["secure aggregation"].status is Status.OK


@pytest.mark.parametrize(
    ("used", "message"),
    [
        (("none", None, None), "used `none`, decided was `secagg-v1`"),
        (("secagg-v1", 2, 1), "1 survivors, below the threshold 2"),
        (("secagg-v1", 2, None), "no threshold or no survivors"),
        (("secagg-v1", None, 3), "no threshold or no survivors"),
    ],
    ids=["left out", "too few", "no survivors", "no threshold"],
)
def test_secure_aggregation_that_fell_short(
    used: tuple[str, int | None, int | None], message: str, tmp_path: Path
) -> None:
    found = checked(spoiled(aggregated(*used)), tmp_path)["secure aggregation"]
    assert (found.status, found.index) == (Status.FAIL, ROUND_2)
    assert message in found.detail


def test_how_often_sites_were_charged_is_read_from_their_receipts(
    tmp_path: Path,
) -> None:
    evidence = read_evidence(fake_run().write(tmp_path / "run"))
    assert list(charges_signed_for(evidence).values()) == [4, 4, 4]
    without = replace(evidence, records=evidence.records[:1])
    assert charges_signed_for(without) == {}
