# SPDX-License-Identifier: Apache-2.0
"""The dossier: verified evidence and its verdict, from which all documents are made.

Every byte of the evidence was checked; nothing comes from files beside the log. The one
exception, metrics on test rows and notes of a run, is kept apart in `measured` and
labelled wherever it is shown. Metrics depend on people whom the guarantee does not
cover, so in the log they would confirm guesses about them for ever. They are
self-reported: a file that is missing or damaged gives no numbers, and nothing else in
the report depends on them.
"""

import csv
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from lexfed.audit.entries import (
    BudgetPlan,
    CompletionEntry,
    Entry,
    FeatureTags,
    Genesis,
    Party,
    PolicyEntry,
    RefusalEntry,
    RoundEntry,
)
from lexfed.audit.entries.envelopes import RecordedEntry
from lexfed.audit.log.evidence import Evidence, IndexedEntry, read_evidence
from lexfed.audit.tree.trust_policy import parse_policy
from lexfed.audit.verify import Check, RunVerdict, Status, verify_run
from lexfed.errors import AuditError, ConfigError, RunFolderError
from lexfed.law.tags import TaggedSchema
from lexfed.plain_files import read_plain
from lexfed.privacy.claim.schema import Claim
from lexfed.privacy.releases import Release
from lexfed.privacy.scopes import CountedRelease
from lexfed.report.held_out_scores import HeldOutScores, read_held_out
from lexfed.report.learned_effects import LearnedEffects, read_effects
from lexfed.toml_text import parse_toml

EntryOfKind = TypeVar("EntryOfKind", bound=Entry)
_Parsed = TypeVar("_Parsed")
_LARGEST = 16 << 20
_ATTEMPTS = 5


@dataclass(frozen=True)
class RunMetrics:
    """Numbers on test rows; `metric` names the deciding one, if any was measured.

    `gains` has it with the towers up to each tier, `by_round` after each round and
    stage; `notes` are of the run about itself; `held_out` is what curves are drawn
    from; `verdict` says that noise decided, if it did; `effects` are those of columns.
    """

    metrics: Mapping[str, float] = field(default_factory=dict)
    gains: Mapping[str, float] = field(default_factory=dict)
    by_round: tuple[tuple[int, str, float], ...] = ()
    metric: str = ""
    notes: tuple[str, ...] = ()
    held_out: HeldOutScores | None = None
    verdict: str = ""
    effects: LearnedEffects | None = None


@dataclass(frozen=True)
class Dossier:
    """The content of the documents, before it is put into words.

    Attributes:
        tagged: every column with its tag; None where the blob was erased.
        claim: the guarantee; None before the end and with mechanism `none`.
        config: the configuration as given, as plain data.
        measured: numbers on test rows, which are not in the log.
    """

    evidence: Evidence
    verdict: RunVerdict
    tagged: TaggedSchema | None
    claim: Claim | None
    config: Mapping[str, Any]
    measured: RunMetrics

    @property
    def records(self) -> tuple[RecordedEntry, ...]:
        """Every entry of the log, oldest first."""
        return self.evidence.records

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(c for c in self.verdict.checks if c.status is Status.FAIL)

    def check(self, claim: str) -> Check:
        """Return the check of a claim, or a note that nobody checked it."""
        for check in self.verdict.checks:
            if check.claim == claim:
                return check
        return Check(claim, Status.NOTE, "not checked")

    @property
    def witnessed(self) -> bool:
        """True if enough witnesses, by the reader's own policy, vouch for the log."""
        return self.check("witnesses").status is Status.OK

    @property
    def name(self) -> str:
        """The run's name in its configuration."""
        return str(self.table("run").get("name", "")) or self.evidence.run

    @property
    def controller(self) -> str:
        """The controller that the configuration names; empty if it names none."""
        return str(self.table("report").get("controller", ""))

    @property
    def stamp(self) -> str:
        """`NOT PRIVATE` wherever nothing is guaranteed; else empty."""
        policy, genesis = self.entry(PolicyEntry), self.entry(Genesis)
        unprotected = policy is not None and policy.mechanism == "none"
        seeded = genesis is not None and genesis.test
        return "NOT PRIVATE" if unprotected or seeded else ""

    @property
    def parties(self) -> tuple[Party, ...]:
        """The parties of the run; none if they cannot be read."""
        try:
            return self.evidence.parties
        except AuditError:
            return ()

    def table(self, name: str) -> Mapping[str, Any]:
        """Return a table of the configuration, empty if it is not there."""
        table = self.config.get(name)
        return table if isinstance(table, dict) else {}

    def of(self, kind: type[EntryOfKind]) -> tuple[IndexedEntry[EntryOfKind], ...]:
        """Return the entries of a kind, oldest first."""
        return self.evidence.of(kind)

    def entry(self, kind: type[EntryOfKind]) -> EntryOfKind | None:
        """Return the latest entry of a kind."""
        return self.evidence.last(kind)

    def index(self, kind: type[Entry]) -> int | None:
        """Return the index of the latest entry of a kind."""
        entries = self.of(kind)
        return entries[-1].index if entries else None

    @property
    def rounds(self) -> tuple[IndexedEntry[RoundEntry], ...]:
        """The rounds that released something."""
        return self.of(RoundEntry)

    @property
    def planned(self) -> int:
        """Number of planned rounds."""
        plan = self.entry(BudgetPlan)
        return plan.rounds if plan is not None else 0

    @property
    def state(self) -> str:
        """State of the run: `finished`, `early`, `refused` or `unfinished`."""
        done = self.entry(CompletionEntry)
        if self.of(RefusalEntry) and not self.rounds:
            return "refused"
        if done is None:
            return "unfinished"
        return "early" if done.early else "finished"


def read_dossier(
    folder: Path, policy: bytes | None = None, pin: bytes | None = None
) -> Dossier:
    """Verify a run folder and return its dossier, whatever the verdict.

    `policy` is the reader's trust file, `pin` a checkpoint that the reader kept. A run
    that writes meanwhile is read again. A log that cannot be read is an `AuditError`,
    and so is no dossier.
    """
    trusted = None if policy is None else parse_policy(policy).logs
    for _ in range(_ATTEMPTS):
        verdict = verify_run(folder, policy, pin)
        evidence = read_evidence(folder, trusted)
        if evidence.view.size == verdict.size:
            return build_dossier(evidence, verdict)
    raise RunFolderError(f"`{folder}` is being written", "wait until its run is over")


def build_dossier(evidence: Evidence, verdict: RunVerdict) -> Dossier:
    """Return the dossier of verified evidence; blobs that were erased are left out."""
    return Dossier(
        evidence=evidence,
        verdict=verdict,
        tagged=_parsed(
            cited_blob(evidence, FeatureTags, "tags"),
            lambda blob: TaggedSchema.from_dict(json.loads(blob)),
        ),
        claim=_parsed(
            cited_blob(evidence, CompletionEntry, "claim"), Claim.model_validate_json
        ),
        config=_parsed(
            cited_blob(evidence, PolicyEntry, "config"),
            lambda blob: parse_toml(blob.decode("utf-8-sig")),
        )
        or {},
        measured=read_run_metrics(evidence.folder),
    )


def planned_releases(dossier: Dossier) -> tuple[CountedRelease, ...]:
    """Return the planned releases; none if their blob was erased or is no list."""
    plan = dossier.entry(BudgetPlan)
    if plan is None or plan.releases is None:
        return ()
    try:
        rows = json.loads(dossier.evidence.blobs.get(plan.releases))
        return tuple((Release.from_json(row["release"]), row["count"]) for row in rows)
    except (AuditError, ValueError, TypeError, KeyError, AttributeError):
        return ()


def cited_blob(evidence: Evidence, kind: type[Entry], field: str) -> bytes | None:
    """Return the blob that the latest entry of a kind cites; None if erased."""
    entry = evidence.last(kind)
    digest = None if entry is None else getattr(entry, field)
    try:
        return None if digest is None else evidence.blobs.get(digest)
    except AuditError:
        return None


def _parsed(blob: bytes | None, parse: Callable[[bytes], _Parsed]) -> _Parsed | None:
    """Return the value of a blob; None for one that was erased or is not sound.

    What it should be is the verifier's to judge: the page says that it is not at hand.
    """
    try:
        return None if blob is None else parse(blob)
    except (ValueError, TypeError, KeyError, RecursionError, ConfigError):
        return None


def read_run_metrics(folder: Path) -> RunMetrics:
    """Return the metrics and notes that a run folder states."""
    plain = _json(folder / "result.json")
    metrics = _numbers(plain.get("metrics"))
    gains = _numbers(plain.get("gains"))
    names, rounds = _rows(folder / "metrics.csv")
    metric = next(iter(metrics), names[0] if names else "")
    notes = (*_words(plain.get("notes")), *_words(plain.get("sketched")))
    verdict = plain.get("verdict")
    held_out = read_held_out(plain.get("held_out"))
    return RunMetrics(
        metrics=metrics,
        gains=gains,
        by_round=rounds,
        metric=metric,
        notes=notes,
        held_out=held_out,
        verdict=verdict if isinstance(verdict, str) else "",
        effects=read_effects(plain.get("effects")),
    )


def _json(path: Path) -> Mapping[str, object]:
    try:
        value = json.loads(read_plain(path, _LARGEST).decode())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _numbers(value: object) -> dict[str, float]:
    if not isinstance(value, dict):
        return {}
    return {
        str(name): float(number)
        for name, number in value.items()
        if isinstance(number, int | float) and math.isfinite(number)
    }


def _words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        return ()
    return tuple(note for note in value if isinstance(note, str))


def _rows(path: Path) -> tuple[list[str], tuple[tuple[int, str, float], ...]]:
    try:
        text = read_plain(path, _LARGEST).decode()
        lines = list(csv.reader(text.splitlines()))
        names = lines[0][2:]
        if not names:
            return [], ()
        rows = [(int(row[0]), row[1], float(row[2])) for row in lines[1:]]
    except (OSError, ValueError, IndexError, csv.Error):
        return [], ()
    return names, tuple(row for row in rows if math.isfinite(row[2]))
