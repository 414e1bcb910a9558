# SPDX-License-Identifier: Apache-2.0
"""Verifying a run folder: every claim that its log makes, one line each.

The order is the order of trust: first the bytes, then who signed them, then what they
say. If the bytes do not verify, what they say is not looked at.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from lexfed.audit.evidence import Evidence, read_evidence
from lexfed.audit.rules import Checks
from lexfed.audit.trust import parse_policy
from lexfed.audit.verify import (
    aggregation,
    certificates,
    claimed,
    entries,
    files,
    outside,
    participation,
    plan,
    rounds,
    spending,
    tags,
    within_plan,
)
from lexfed.audit.verify.outcome import Check, Judge, Status, Verdict, decide
from lexfed.errors import AuditError


def verify_run(
    folder: Path,
    policy: bytes | None = None,
    pin: bytes | None = None,
    skew: int = outside.SKEW_S,
    authorities: Path | None = None,
) -> Verdict:
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
        return Verdict((failed, Check("everything else", Status.NOTE, rest)))
    judges: tuple[tuple[str, Judge], ...] = (
        ("log", _log),
        ("log key", outside.log_key),
        ("witnesses", partial(outside.witnesses, policy=trust)),
        ("pin", partial(outside.pin, note=pin)),
        ("times", partial(outside.times, policy=trust, skew=skew, roots=authorities)),
    )
    done = {}
    for claim, judge in (*judges, *CLAIMS):
        done[claim] = decide(claim, judge, evidence)
    rules = partial(certificates.reevaluated, checks=_found_out(done))
    done["certificates"] = decide("certificates", rules, evidence)
    checkpoint = evidence.view.signed.checkpoint
    return Verdict(
        tuple(done.values()),
        checkpoint.origin,
        checkpoint.size,
        checkpoint.root.hex(),
    )


def _found_out(done: Mapping[str, Check]) -> Checks:
    """Return what rules ask a verifier for."""
    whole = ("entry signatures", "bindings", "genesis", "references")
    charged = ("budget plan", "round events", "budgets spent")
    private = not done["budget plan"].detail.startswith(plan.NOT_PRIVATE)
    return Checks(
        log=all(done[claim].status is Status.OK for claim in whole),
        budget=all(done[claim].status is not Status.FAIL for claim in charged)
        if private
        else None,
        sums=_shown(done["secure aggregation"]),
    )


def _shown(check: Check) -> bool | None:
    return None if check.status is Status.NOTE else check.status is Status.OK


CLAIMS: tuple[tuple[str, Judge], ...] = (
    ("entry signatures", entries.entry_signatures),
    ("separate keys", entries.separate_keys),
    ("bindings", entries.bindings),
    ("genesis", entries.one_genesis),
    ("references", entries.references),
    ("decided first", rounds.decided_first),
    ("rounds", rounds.gap_free),
    ("blobs", files.blobs),
    ("feature tags", tags.feature_tags),
    ("budget plan", plan.budget_plan),
    ("round events", within_plan.events),
    ("budgets spent", spending.spent),
    ("claim", claimed.claim),
    ("participants", participation.participants),
    ("secure aggregation", aggregation.aggregation),
    ("files", files.run_files),
    ("other files", files.other_files),
    ("report", files.reports),
)
"""What the entries themselves are checked for, in the order of the lines."""


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
