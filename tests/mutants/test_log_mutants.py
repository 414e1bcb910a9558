# SPDX-License-Identifier: Apache-2.0
"""Mutants of the log of a run: entries, receipts, pins and totals."""

from typing import Any

import pytest

from lexfed.audit.entries import RoundEntry, receipts
from lexfed.audit.log.audit_log import AuditLog
from lexfed.durable import publish_file
from lexfed.federation.programme.messages import Query
from lexfed.privacy.releases import Release
from lexfed.run.audit_log import logbook
from lexfed.run.audit_log.logbook import Logbook
from lexfed.run.driver import round_replies
from lexfed.run.folder import STATE, RunFolder
from support.audit import log_checks
from support.mutant import Mutant, Patch, both_tests


def _entry_after_release(patch: Patch) -> None:
    real = RunFolder.stage

    def broken(self: RunFolder, progress: Any) -> bytes:
        content = real(self, progress)
        publish_file(self.path / STATE)
        return content

    patch.setattr(RunFolder, "stage", broken)
    patch.setattr(RunFolder, "publish", lambda _: None)


def _receipts_unchecked(patch: Patch) -> None:
    patch.setattr(round_replies, "check_receipt", lambda _, __, one, *___: one)
    patch.setattr(receipts, "encode", lambda _: b"[]")


def _participants_shown(patch: Patch) -> None:
    patch.setattr(round_replies, "secret_sampling", lambda _: False)


def _no_pin(patch: Patch) -> None:
    patch.setattr(AuditLog, "pin", lambda _: None)


def _label_not_in_the_logged_total(patch: Patch) -> None:
    real = Logbook._after

    def broken(self: Logbook, release: Release | None) -> Any:
        labels = release is not None and release.name == "label rate"
        return self.total if labels else real(self, release)

    patch.setattr(Logbook, "_after", broken)


def _unprotected_sum_hashed(patch: Patch) -> None:
    real = Logbook.round

    def broken(
        self: Logbook, query: Query, released: Any, state: bytes, *more: Any
    ) -> None:
        def entry(**fields: Any) -> RoundEntry:
            digest = logbook.sha256(released.update.tobytes())
            return RoundEntry(**{**fields, "update": fields["update"] or digest})

        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(logbook, "RoundEntry", entry)
            real(self, query, released, state, *more)

    patch.setattr(Logbook, "round", broken)


MUTANTS = (
    Mutant(
        "a release before its entry",
        _entry_after_release,
        log_checks.entries_come_first,
    ),
    Mutant(
        "receipts nobody checks",
        _receipts_unchecked,
        log_checks.stolen_receipts_are_noticed,
    ),
    Mutant(
        "secret participants logged",
        _participants_shown,
        log_checks.secret_participants_stay_secret,
    ),
    Mutant("checkpoints not pinned", _no_pin, log_checks.restored_runs_are_refused),
    Mutant(
        "a logged total without the label rate",
        _label_not_in_the_logged_total,
        log_checks.logged_totals_are_complete,
    ),
    Mutant(
        "a hash of a sum without noise",
        _unprotected_sum_hashed,
        log_checks.unprotected_sums_are_not_hashed,
    ),
)


test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
