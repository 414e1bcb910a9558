# SPDX-License-Identifier: Apache-2.0
"""Verifying a run folder: every claim that its log makes, one line each.

The order is the order of trust: first the bytes, then who signed them, then what they
say. If the bytes do not verify, what they say is not looked at.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from lexfed.audit.log.evidence import Evidence, read_evidence
from lexfed.audit.rules import VerifierFindings
from lexfed.audit.tree.trust_policy import parse_policy
from lexfed.audit.verify.guarantee import (
    plan_adherence,
    plan_price,
    spending,
    stated_claim,
    tags,
)
from lexfed.audit.verify.integrity import (
    bindings,
    certificates,
    files,
    outside_evidence,
    round_sequence,
)
from lexfed.audit.verify.sites import masked_sums, participation
from lexfed.audit.verify.verdict import Check, Judge, RunVerdict, Status, decide
from lexfed.errors import AuditError


def verify_run(
    folder: Path,
    policy: bytes | None = None,
    pin: bytes | None = None,
    skew: int = outside_evidence.SKEW_S,
    authorities: Path | None = None,
) -> RunVerdict:
    """Verify the log of a run and everything that it says.

    Args:
        folder: the run folder, or an unpacked evidence bundle.
        policy: the reader's trust file (tlog-policy); None to believe the log's key.
        pin: a checkpoint of this log that the reader kept.
        skew: seconds by which clocks may differ.
        authorities: certificates (PEM) of time-stamp authorities the reader trusts.

    Guarantees:
        Whatever the folder holds, the result is a verdict or an error of this package.
        Nothing is written, and nothing is asked over a network.
        The same folder gives the same verdict on every machine.

    Raises:
        AuditError: if the policy is malformed.
        RunFolderError: if there is no log, or a file may not be read.
    """
    trust = None if policy is None else parse_policy(policy)
    try:
        evidence = read_evidence(folder, None if trust is None else trust.logs)
    except AuditError as error:
        failed = Check("log", Status.FAIL, error.message)
        rest = "not checked: the log is not sound"
        return RunVerdict((failed, Check("everything else", Status.NOTE, rest)))
    judges: tuple[tuple[str, Judge], ...] = (
        ("log", _log),
        ("log key", outside_evidence.log_key),
        ("witnesses", partial(outside_evidence.witnesses, policy=trust)),
        ("pin", partial(outside_evidence.pin, note=pin)),
        (
            "times",
            partial(outside_evidence.times, policy=trust, skew=skew, roots=authorities),
        ),
    )
    done = {}
    for claim, judge in (*judges, *CLAIMS):
        done[claim] = decide(claim, judge, evidence)
    rules = partial(certificates.reevaluated, checks=_found_out(done))
    done["certificates"] = decide("certificates", rules, evidence)
    checkpoint = evidence.view.signed.checkpoint
    return RunVerdict(
        tuple(done.values()),
        checkpoint.origin,
        checkpoint.size,
        checkpoint.root.hex(),
    )


def _found_out(done: Mapping[str, Check]) -> VerifierFindings:
    """Return the findings that rules need of a verifier."""
    whole = ("entry signatures", "bindings", "genesis", "references")
    charged = ("budget plan", "round events", "budgets spent")
    private = not done["budget plan"].detail.startswith(plan_price.NOT_PRIVATE)
    return VerifierFindings(
        log=all(done[claim].status is Status.OK for claim in whole),
        budget=all(done[claim].status is not Status.FAIL for claim in charged)
        if private
        else None,
        sums=_shown(done["secure aggregation"]),
    )


def _shown(check: Check) -> bool | None:
    return None if check.status is Status.NOTE else check.status is Status.OK


CLAIMS: tuple[tuple[str, Judge], ...] = (
    ("entry signatures", bindings.entry_signatures),
    ("separate keys", bindings.separate_keys),
    ("bindings", bindings.bindings),
    ("genesis", bindings.one_genesis),
    ("references", bindings.references),
    ("decided first", round_sequence.decided_first),
    ("rounds", round_sequence.gap_free),
    ("blobs", files.blobs),
    ("feature tags", tags.feature_tags),
    ("budget plan", plan_price.budget_plan),
    ("round events", plan_adherence.events),
    ("budgets spent", spending.spent),
    ("claim", stated_claim.claim),
    ("participants", participation.participants),
    ("secure aggregation", masked_sums.aggregation),
    ("files", files.run_files),
    ("other files", files.other_files),
    ("report", files.reports),
)
"""The checks of the entries themselves, in the order of the lines."""


def _log(evidence: Evidence) -> str:
    checkpoint = evidence.view.signed.checkpoint
    stage = evidence.view.stage
    waiting = ""
    if stage is not None:
        waiting = f"; a writer left {len(stage.entries)} unfinished entries"
    return (
        f"{checkpoint.size} entries, root {checkpoint.root.hex()}, every byte under "
        f"the signed checkpoint{waiting}"
    )
