# SPDX-License-Identifier: Apache-2.0
"""Runs to report on, signed and sound, and the dossiers made from them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization

from lexfed.audit.entries import (
    AbortedRoundEntry,
    CompletionEntry,
    Document,
    Governance,
    PrivacyTest,
    RecordOfProcessing,
    RefusalEntry,
    ResumptionEntry,
    RoundEntry,
)
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.rules import certify
from lexfed.audit.verify import verify_run
from lexfed.report.dossier import Dossier, build_dossier
from support.audit import worlds as audit_worlds
from support.audit.worlds import COORDINATOR, LOG, FakeRun, fake_run, sha256

RESULT: dict[str, Any] = {
    "metrics": {"auc": 0.8364, "accuracy": 0.79},
    "gains": {"personal": 0.7, "special": 0.8364},
    "held_out": {
        "rows": 100,
        "majority": 0.6,
        "classes": ["no", "yes"],
        "confusion": [[50, 10], [11, 29]],
        "threshold": 0.5,
        "groups": [[0.1, 24, 1], [0.4, 20, 5], [0.6, 11, 14], [0.9, 5, 20]],
    },
}
SPELLS = '"><img src=x onerror=alert(2)></svg><style>*{display:none}</style>\u202e\x1b'
METRICS = (
    "round,stage,auc,accuracy\n1,personal,0.6,0.7\n2,personal,0.7,0.7\n"
    "3,special,0.8,0.78\n4,special,0.8364,0.79\n"
)
MakeDossier = Callable[[FakeRun], Dossier]


@pytest.fixture
def dossier_of(tmp_path: Path) -> MakeDossier:
    """Write a run and read it back, verified."""

    def make(run: FakeRun) -> Dossier:
        made = len(list(tmp_path.iterdir()))
        folder = run.write(tmp_path / f"run-{made}")
        return build_dossier(read_evidence(folder), verify_run(folder))

    return make


def measured(run: FakeRun) -> FakeRun:
    """Add the files with metrics on test rows."""
    run.files["result.json"] = json.dumps(RESULT).encode()
    run.files["metrics.csv"] = METRICS.encode()
    return run


def told_run() -> FakeRun:
    """Return a run about which people stated much, attacked and certified."""
    run = measured(fake_run())
    end = run.drafts.pop()
    texts = {"purposes": "care research", "not_applicable": {"transfers": "none leave"}}
    groups = {"purposes": "stated", "transfers": "not-applicable", "erasure": "missing"}
    run.add(
        Governance.model_validate(
            {
                "purpose": "readmission-research",
                "legal_basis": "6.1.e",
                "special": {"health": {"exception": "9.2.j", "law": sha256(b"law")}},
                "dpia_triggers": ("special-data-at-scale",),
                "residual_risk": "low",
                "review_due": "2027-01-31",
                "retention": {"model": "2031-12-31"},
            }
        ),
        "governance",
    )
    run.add(
        RecordOfProcessing.model_validate(
            {
                "role": "controller",
                "groups": groups,
                "text": run.put(json.dumps(texts).encode()),
            }
        ),
        "record/controller",
    )
    run.add(
        Document(what="proxy-review", digest=sha256(b"review"), issued="2026-10-01"),
        "document/proxy-review",
    )
    # What people state stands before the rounds.
    stated = run.drafts[-3:]
    del run.drafts[-3:]
    run.drafts[4:4] = stated
    run.drafts.append(end)
    run.add(
        PrivacyTest(
            attack="membership", tool="lira-1.0", model=sha256(b"the model"),
            metric="auc", value="0.507", report=None,
        ),
        "privacy-test/membership",
    )  # fmt: skip
    return run


def certified(run: FakeRun) -> FakeRun:
    """Append the certificate that the rules give on the run."""

    class Content:
        def get(self, digest: str) -> bytes:
            return run.blobs[digest]

    class Placed:
        def __init__(self, draft: audit_worlds.Draft, index: int) -> None:
            self.entry = draft.entry
            self.time = audit_worlds.time_of(index)

    placed = [Placed(draft, index) for index, draft in enumerate(run.drafts)]
    run.add(certify(placed, Content()), "certificate")
    return run


def early_run() -> FakeRun:
    """Return a run that ended after three of four rounds."""
    run = fake_run()
    run.drafts.remove(run.of(RoundEntry)[3])
    claim = json.loads(run.files["claim.json"])
    run.files["claim.json"] = audit_worlds.pretty({**claim, "rounds": 3})
    run.files["state.safetensors"] = b"state after round 3"
    digest = run.put(run.files["claim.json"])
    run.edit(CompletionEntry, rounds=3, released=3, early=True, claim=digest)
    return run


def hostile_run() -> FakeRun:
    """Return a run whose files beside the log were written by somebody hostile."""
    run = measured(fake_run())
    names = ["</td></table><script>alert(1)</script>" + "x" * 200, SPELLS]
    changes = {"held_out": {**RESULT["held_out"], "classes": names}, "notes": [SPELLS]}
    run.files["result.json"] = json.dumps({**RESULT, **changes}).encode()
    return run


def refused_run() -> FakeRun:
    """Return a run whose first round was refused."""
    run = fake_run(rounds=(1, 1))
    run.drafts = [
        d for d in run.drafts if not isinstance(d.entry, RoundEntry | CompletionEntry)
    ]
    run.files.pop("model.safetensors", None)
    run.files.pop("state.safetensors", None)
    run.files.pop("claim.json", None)
    run.add(
        RefusalEntry(
            round=1, by="site", scope="special", would_reach="2.61", limit="2.5"
        ),
        "refusal/1",
    )
    return run


def broken_run() -> FakeRun:
    """Return a run that was interrupted in round 3, resumed, and is not finished."""
    run = fake_run(finished=False)
    lost = run.of(RoundEntry)[2]
    assert isinstance(lost.entry, RoundEntry)
    lost.entry = AbortedRoundEntry(
        round=3, cause="interrupted", released="unknown", event=lost.entry.event
    )
    lost.key = "aborted/3"
    place = run.drafts.index(lost) + 1
    run.add(ResumptionEntry(rounds=2), "resumed/7")
    run.drafts.insert(place, run.drafts.pop())
    return run


def write_keys(folder: Path) -> Path:
    """Write the keys of every fake run as files, as runs keep theirs."""
    folder.mkdir(mode=0o700)
    for name, signer in (("coordinator", COORDINATOR), ("log", LOG)):
        pem = signer.private.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        path = folder / f"{name}.pem"
        path.write_bytes(pem)
        path.chmod(0o600)
    return folder
