# SPDX-License-Identifier: Apache-2.0
"""Fake runs of distributed trust, and how to change their masked sums."""

from copy import deepcopy
from functools import cache
from pathlib import Path

from lexfed.audit.entries import Aggregation, RoundEntry, receipts
from lexfed.audit.entries.masking_record import aggregation_of
from lexfed.audit.verify import verify_run
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.signing.keys import Signer
from support.audit.masked_rounds import name_of
from support.audit.two_verifiers import compared
from support.audit.worlds import SITES, FakeRun, fake_run, receipt_of

CLAIM = "secure aggregation"
ORDERED = sorted(SITES, key=name_of)
"""The sites by seat."""


@cache
def _made(louder: float) -> FakeRun:
    cohort = NoiseCohort(5, 1, 1)
    return fake_run(cohort=cohort, sites=5, accountant="rdp", louder=louder)


def masked_run(louder: float = 1.0) -> FakeRun:
    """Return four rounds of five sites, one of them missing in every second round.

    Args:
        louder: how many times the noise that sites were asked for the log states.
    """
    return deepcopy(_made(louder))


def round_of(run: FakeRun, number: int) -> RoundEntry:
    """Return a round, counted from 0."""
    entry = run.of(RoundEntry)[number].entry
    assert isinstance(entry, RoundEntry)
    return entry


def how(run: FakeRun, number: int) -> Aggregation:
    """Return what a round says of its masked sum."""
    return round_of(run, number).aggregation


def record(run: FakeRun, number: int = 0) -> bytes:
    """Return the record of a round."""
    return run.blobs[how(run, number).evidence or ""]


def use(run: FakeRun, number: int, content: bytes) -> None:
    """Let a round cite another record, and say what that one shows."""
    run.put(content)
    run.edit(RoundEntry, number, aggregation=aggregation_of(content))


def sign_receipts(run: FakeRun, number: int, sites: list[Signer]) -> None:
    """Let a round have the receipts of these sites."""
    entry = round_of(run, number)
    receipt = receipt_of(number + 1, entry.event)
    blob = receipts.encode([receipts.sign(receipt, site) for site in sites])
    stated = entry.participation.model_copy(
        update={"sites": len(sites), "digest": run.put(blob)}
    )
    run.edit(RoundEntry, number, participation=stated)


def refused(run: FakeRun, folder: Path, words: str, claim: str = CLAIM) -> None:
    """Require that both verifiers refuse the claim, ours in these words."""
    rows = compared(run.write(folder))
    assert rows[claim]["status"] == "FAIL"
    [ours] = [check for check in verify_run(folder).checks if check.claim == claim]
    assert words in ours.detail
