# SPDX-License-Identifier: Apache-2.0
"""Interrupted runs: is the folder whole, and where does the run go on?

A crash leaves a folder that `require_whole` passes, at whatever moment it comes. A
folder that was damaged since must not go on: what it would spend could never be shown
to anybody. So everything is compared that a run rests on:

    log, and files with a digest in it      as `lexfed verify` does
    everything that runs write              a plain file or folder, never a link
    files from before the first round       all there
    state.safetensors                       after the last released round
    events.jsonl                            the log's rounds, at most one ahead
    sites/N.jsonl                           the journal's rounds, as the site pays them,
                                            no fewer than it signed receipts for

Then `recover` settles a round that was open:

    charged, no trace of a release      run again under the same charge, if nothing
                                        can have left a site unseen; else lost
    charged, a part of it on disk       spent and lost: the next round is asked
    staged, and its entry in the log    published: it was whole, and others may know it
    released                            done

Rounds are charged one by one, so at most the last one is open. A lost round is written
down before its trace is removed; a crash in between finds the same answer again.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexfed.audit.entries import (
    AbortedRoundEntry,
    ChargedEvent,
    CompletionEntry,
    RoundEntry,
)
from lexfed.audit.log.evidence import Evidence, read_evidence
from lexfed.audit.log.logged_files import digest_of
from lexfed.audit.verify import Status, verify_run
from lexfed.audit.verify.participation import charges_signed_for
from lexfed.durable import read_lines
from lexfed.errors import AuditError, RunFolderError
from lexfed.federation.coordinator.progress import Progress
from lexfed.plain_files import MOST_OF_A_MODEL, read_plain
from lexfed.privacy.releases import Release
from lexfed.run.audit_log.logbook import Logbook, run_keys, sha256
from lexfed.run.folder import (
    EVENTS,
    FOLDERS,
    LOG,
    OLD_COPY,
    OPENING,
    PARTIES,
    SITES,
    STATE,
    RunFolder,
    is_run_file,
)
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.signing.keys import fingerprint

_SPENT_HINT = "nothing was spent; start another run, the budget of this one stays spent"

_SILENT = ("start", "note", "refusal", "excluded", "end")
"""Events that say nothing about the place of the run in its programme."""


@dataclass(frozen=True)
class RoundCharge:
    """A round that was charged, and its place in the programme."""

    stage: int
    step: int
    release: Release | None


@dataclass(frozen=True)
class RunJournal:
    """The rounds and set-ups of masks that `events.jsonl` knows of.

    Charges are in order; `lost` are the charged rounds that are not part of the model.
    """

    charges: tuple[RoundCharge, ...]
    lost: frozenset[int]
    epochs: frozenset[int]


def read_journal(path: Path, rows: Sequence[Mapping[str, Any]]) -> RunJournal:
    """Return charges and set-ups of a journal's rows; `path` is for messages."""
    charges: list[RoundCharge] = []
    lost: set[int] = set()
    epochs: set[int] = set()
    for number, row in enumerate(rows, start=1):
        try:
            kind = row["type"]
            if kind == "charge":
                charges.append(_charge(row, len(charges) + 1))
            elif kind == "lost":
                lost.add(int(row["round"]))
            elif kind == "set-up":
                epochs.add(int(row["epoch"]))
            elif kind not in _SILENT:
                raise ValueError("an unknown event")
        except (KeyError, TypeError, ValueError) as error:
            raise RunFolderError(
                f"{path}:{number}: not an event of this run",
                "a run cannot be continued with a gap: start another",
            ) from error
    return RunJournal(tuple(charges), frozenset(lost), frozenset(epochs))


def _charge(row: Mapping[str, Any], number: int) -> RoundCharge:
    if row["round"] != number:
        raise ValueError("a round is missing")
    release = row["release"]
    return RoundCharge(
        stage=int(row["stage"]),
        step=int(row["step"]),
        release=None if release is None else Release.from_json(release),
    )


def require_verified(path: Path) -> Evidence:
    """Verify a run folder as `lexfed verify` does, and return its evidence."""
    failed = [
        f"{check.claim}: {check.detail}"
        for check in verify_run(path).checks
        if check.status is Status.FAIL
    ]
    if failed:
        raise _damaged(path, failed)
    return read_evidence(path)


def require_finished(folder: RunFolder) -> None:
    """Verify the folder of a finished run; `AuditError` names every damage."""
    wrong = list(_end(folder, require_verified(folder.path)))
    if wrong:
        raise _damaged(folder.path, wrong)


def require_whole(priced: PricedRun, folder: RunFolder, keys: Path) -> None:
    """Compare everything that an interrupted run rests on, its folder of keys too.

    Guarantees:
        Nothing is written.
        A folder that a crash left, at whatever moment, passes.
    """
    evidence = require_verified(folder.path)
    journal = read_journal(folder.path / EVENTS, folder.events.rows)
    wrong = [
        *_end(folder, evidence),
        *_strange(folder.path),
        *_missing(folder.path),
        *_state(folder.path, evidence, len(journal.charges)),
        *_charges(priced, journal),
        *_rounds(evidence, journal),
    ]
    # Ledgers of sites are compared with the journal, so that one must be sound.
    wrong = wrong or [*_site_ledgers(priced, folder.path, evidence, journal, keys)]
    if wrong:
        raise _damaged(folder.path, wrong)


def _damaged(path: Path, wrong: Sequence[str]) -> AuditError:
    return AuditError(f"`{path}` was damaged: {'; '.join(wrong)}", _SPENT_HINT)


def _end(folder: RunFolder, evidence: Evidence) -> Iterator[str]:
    if folder.finished and not evidence.of(CompletionEntry):
        yield f"`{EVENTS}` says that the run is over, and the log does not"


def _strange(path: Path) -> Iterator[str]:
    """Yield the files of a run that are links, pipes, devices or folders."""
    with os.scandir(path) as entries:
        ours = [entry for entry in entries if is_run_file(Path(entry.path))]
    for entry in ours:
        if entry.name in FOLDERS:
            if not entry.is_dir(follow_symlinks=False):
                yield f"`{entry.name}` is not a folder"
            elif entry.name != LOG:  # whose files were read already
                with os.scandir(entry.path) as inner:
                    for file in inner:
                        if not file.is_file(follow_symlinks=False):
                            yield f"`{entry.name}/{file.name}` is not a plain file"
        elif not entry.is_file(follow_symlinks=False):
            yield f"`{entry.name}` is not a plain file"


def _missing(path: Path) -> Iterator[str]:
    for name in OPENING:
        # The names of the parties may be erased.
        if name not in (LOG, PARTIES) and not (path / name).exists():
            yield f"`{name}` is missing"


def _state(path: Path, evidence: Evidence, charged: int) -> Iterator[str]:
    """Yield a problem if the state is not that after the last released round."""
    lost = {each.entry.round for each in evidence.of(AbortedRoundEntry)}
    kept = [r.entry for r in evidence.of(RoundEntry) if r.entry.round not in lost]
    present = digest_of(path / STATE)
    # The entry of a round is on disk before its state: of the last one charged it may
    # be missing.
    settled = [entry for entry in kept if entry.round < charged]
    if settled and present is None:
        yield f"`{STATE}` is missing"
    if not kept and present is not None:
        yield f"`{STATE}` is there, and the log knows of no round that it could hold"
    if kept and kept == settled and kept[-1].state not in (None, present):
        yield f"`{STATE}` is not the state after round {kept[-1].round}"


def _charges(priced: PricedRun, journal: RunJournal) -> Iterator[str]:
    """Yield the charged rounds that are not the programme's."""
    stages, before = priced.programme.stages, (-1, -1)
    for number, charge in enumerate(journal.charges, start=1):
        place = (charge.stage, charge.step)
        known = before < place and 0 <= charge.stage < len(stages)
        if not known or not stages[charge.stage].admits(charge.step, charge.release):
            yield f"`{EVENTS}`: round {number} is not one of this programme"
            return
        before = place


def _rounds(evidence: Evidence, journal: RunJournal) -> Iterator[str]:
    """Yield the contradictions between journal and log."""
    rounds = {each.entry.round: each.entry for each in evidence.of(RoundEntry)}
    aborted = {each.entry.round: each.entry for each in evidence.of(AbortedRoundEntry)}
    last = len(journal.charges)
    known = rounds.keys() | aborted.keys()
    if known not in (set(range(1, last + 1)), set(range(1, last))):
        listed = max(known, default=0)
        yield f"`{EVENTS}` lists {last} charged rounds, the log {listed}"
        return
    for number in sorted(known):
        charge = journal.charges[number - 1]
        event = None if charge.release is None else ChargedEvent.of(charge.release)
        for entry in (rounds.get(number), aborted.get(number)):
            if entry is not None and entry.event != event:
                yield f"`{EVENTS}`: round {number} is not the one that was logged"
    if not aborted.keys() - {last} <= journal.lost <= aborted.keys():
        yield f"`{EVENTS}` and the log disagree on which rounds were lost"
    epochs = {entry.aggregation.epoch for entry in rounds.values()} - {None}
    if not epochs <= journal.epochs:
        yield f"`{EVENTS}` does not know all set-ups of masks that are in the log"


def _site_ledgers(
    priced: PricedRun, path: Path, evidence: Evidence, journal: RunJournal, keys: Path
) -> Iterator[str]:
    """Yield the ledgers of sites in this process that are not those of this run."""
    names = priced.programme.sites
    in_process = (
        priced.population.elsewhere is None
        and priced.config.federation.engine == "inprocess"
    )
    if not (in_process and priced.private):
        return
    signed = charges_signed_for(evidence)
    public = run_keys(keys, evidence.origin, names, make=False).public
    for number, site in enumerate(priced.population.sites, start=1):
        file = f"{SITES}/{number}.jsonl"
        rows = _releases(path / file)
        place = names.index(site.name)
        payable = [_payable(priced, charge, place) for charge in journal.charges]
        if rows is None or not _in_order(rows, payable):
            yield f"`{file}` holds a charge that is not one of this run"
        elif len(rows) < signed.get(fingerprint(public[site.name]), 0):
            yield f"`{file}` holds fewer charges than its site has signed for"


def _releases(path: Path) -> list[Release] | None:
    try:
        return [Release.from_json(row) for row in read_lines(path)]
    except ValueError:
        return None


def _payable(
    priced: PricedRun, charge: RoundCharge, place: int
) -> tuple[Release | None, ...]:
    """Return a site's charge for a round: as asked, or as planned if it was left out.

    Sites that coins leave out pay the planned price: they are not told more.
    """
    stage = priced.programme.stages[charge.stage]
    asked = (charge.release, stage.planned(charge.step))
    return tuple(stage.at(charge.step).release_for(each, place) for each in asked)


def _in_order(
    rows: Sequence[Release], payable: Iterable[tuple[Release | None, ...]]
) -> bool:
    """Return True if each charge is one of a round, and rounds go up."""
    rounds = iter(payable)
    return all(any(row in one for one in rounds) for row in rows)


@dataclass(frozen=True)
class ResumePoint:
    """The state from which a run goes on.

    Attributes:
        progress: state after the last round that is over.
        charges: every release charged so far, in order; None without privacy.
        paid: whether the next round is charged already.
        released: rounds whose release is part of the state.
        durable: state after the last round whose release is on disk.
    """

    progress: Progress
    charges: tuple[Release | None, ...]
    paid: bool
    released: int
    durable: Progress


def recover(
    folder: RunFolder, start: Progress, logbook: Logbook, answers_left: bool = False
) -> ResumePoint:
    """Return the state of a run, and settle an open round.

    `start` is the state before the first round. If `answers_left`, sites may have
    answered a round that was charged: it is lost, since they are not asked again for
    nothing.
    """
    journal = read_journal(folder.path / EVENTS, folder.events.rows)
    charges, lost = journal.charges, set(journal.lost)
    _publish_logged_round(folder, logbook, len(charges))
    durable = folder.state() or start
    over = durable.done
    while over + 1 in lost:
        over += 1
    if not over <= len(charges) <= over + 1:
        raise RunFolderError(
            f"`{folder.path / EVENTS}` lists {len(charges)} charged rounds, the state "
            f"knows {over}",
            OLD_COPY,
        )
    paid = len(charges) == over + 1
    seen = folder.partial_release.exists() or logbook.is_over(over + 1)
    if paid and (seen or answers_left):
        over += 1
        logbook.aborted(over, charges[-1].release, "interrupted")
        folder.events.append({"type": "lost", "round": over})
        lost.add(over)
        paid = False
    folder.partial_release.unlink(missing_ok=True)
    progress = durable
    for charge in charges[durable.done : over]:
        progress = progress.after_round(charge.stage, charge.step)
    return ResumePoint(
        progress=progress,
        charges=tuple(charge.release for charge in charges),
        paid=paid,
        released=over - len(lost),
        durable=durable,
    )


def _publish_logged_round(folder: RunFolder, logbook: Logbook, last: int) -> None:
    """Finish a round that was interrupted between its entry and its release."""
    staged, entry = folder.partial_release, logbook.round_entry(last)
    if entry is None or not staged.exists():
        return
    # Without privacy nothing is hashed; the entry alone says that staging was over.
    if entry.state is None or entry.state == sha256(
        read_plain(staged, MOST_OF_A_MODEL)
    ):
        folder.publish()
