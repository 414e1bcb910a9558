# SPDX-License-Identifier: Apache-2.0
"""The report names the budget policy that a run was held to."""

from collections.abc import Callable

import pytest

from lexfed.audit.entries import PolicyEntry
from lexfed.config.policy_file import PAYLOAD_TYPE, read_policy
from lexfed.report.dossier import Dossier
from lexfed.report.sections import guarantee
from lexfed.signing.dsse import SignedEnvelope
from support.audit.worlds import COORDINATOR, FakeRun, fake_run

MakeDossier = Callable[[FakeRun], Dossier]
PUBLISHED = read_policy("published").content
SIGNED = SignedEnvelope.sign(
    PUBLISHED, COORDINATOR, payload_type=PAYLOAD_TYPE
).to_bytes()


def told(run: FakeRun, dossier_of: MakeDossier) -> str | None:
    facts = {f.name: f.value for f in guarantee.facts(dossier_of(run))}
    return facts.get("Budget policy")


@pytest.mark.parametrize(
    ("blob", "words"),
    [
        (PUBLISHED, "…: published budgets per sensitivity level"),
        (SIGNED, "…, with 1 signature: published budgets per sensitivity level"),
        (b"not a policy", "…"),
        (b"{}", "…"),
        (b"\xff", "…"),
    ],
    ids=["file", "signed", "not toml", "not an envelope", "not text"],
)
def test_the_policy_is_named(blob: bytes, words: str, dossier_of: MakeDossier) -> None:
    run = fake_run()
    digest = run.put(blob)
    run.edit(PolicyEntry, policy=digest)
    assert told(run, dossier_of) == f"default, SHA-256 {digest[:16]}{words}"


def test_a_policy_that_was_erased_leaves_its_hash(dossier_of: MakeDossier) -> None:
    run = fake_run()
    run.edit(PolicyEntry, policy="ab" * 32)
    assert told(run, dossier_of) == f"default, SHA-256 {'ab' * 8}…"


def test_without_a_policy_nothing_is_said(dossier_of: MakeDossier) -> None:
    assert told(fake_run(), dossier_of) is None
