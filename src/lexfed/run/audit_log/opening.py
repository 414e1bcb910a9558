# SPDX-License-Identifier: Apache-2.0
"""Opening the audit log of a run folder, or making it, with the keys it needs."""

import json
from dataclasses import replace
from pathlib import Path

from lexfed.audit.entries import AbortedRoundEntry, ChangeEntry, Genesis, RoundEntry
from lexfed.audit.entries.opening import parties_of
from lexfed.audit.log.access import open_for_appending
from lexfed.audit.log.audit_log import AuditLog
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.storage.write_protocol import MAX_NOTE
from lexfed.durable import write_atomically
from lexfed.errors import AuditError, RunFolderError
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.privacy.run_ledger import RunningTotal
from lexfed.run.audit_log.first_entries import (
    SOFTWARE,
    LogOpening,
    new_origin,
    opening_entries,
)
from lexfed.run.audit_log.governance import governance_entries, party_of
from lexfed.run.audit_log.keys import RunKeys, run_keys
from lexfed.run.audit_log.logbook import Logbook, sha256
from lexfed.run.audit_log.witnesses import witnessing_of
from lexfed.run.folder import LOG, OLD_COPY, PARTIES
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.signing.keys import fingerprint
from lexfed.tiers import Tier


def check_statements(priced: PricedRun, base: Path) -> None:
    """Check that everything `[audit]` names is there, before anything is written.

    Raises:
        ConfigError: naming every file that cannot be read, and every unknown site or
            witness.
        RunFolderError, AuditError: if the witness policy cannot be used.
    """
    config = priced.config
    single = config.federation.engine != "simulation"
    stand_in = "0" * 64 if single else None
    sites = dict.fromkeys(priced.programme.sites, stand_in)
    governance_entries(config.audit, base, sites)
    for name in sites:
        party_of(config.audit, base, name, None)
    witnessing_of(config.audit, base)


def open_log(priced: PricedRun, path: Path, base: Path, begun: bool) -> Logbook:
    """Open the log of a run, or begin it.

    Args:
        priced: the run.
        path: the run folder, with the files written before the first round.
        base: folder that paths in the configuration are relative to.
        begun: whether, by the journal, the opening entries are in the log.

    Raises:
        AuditError: if the log does not verify, or is older than what was pinned.
        RunFolderError: if log or keys cannot be used.
    """
    config, folder = priced.config, path / LOG
    there = (folder / "checkpoint").exists()
    # A log that was being made has its first checkpoint in `signed` already.
    signed = folder / ("checkpoint" if there else "signed/0")
    origin, size = _head(signed) if signed.exists() else (new_origin(priced), 0)
    if begun and size == 0:
        raise RunFolderError(
            f"`{folder}` lost the entries of this run",
            OLD_COPY,
        )
    elsewhere = priced.population.elsewhere
    single = config.federation.engine == "inprocess" and elsewhere is None
    names = priced.programme.sites if single else ()
    keys = run_keys(base / config.audit.keys, origin, names, make=size == 0)
    if elsewhere is not None:
        keys = replace(keys, elsewhere=elsewhere.keys)
    witnessing = witnessing_of(config.audit, base)
    if size > 0:
        floor = witnessing.seen(origin, *read_evidence(path).custody.log_keys)
        log = open_for_appending(path, keys.folder, floor)
        keys = replace(keys, log=log.keys)
    elif there:
        log = AuditLog.open(folder, keys.log, pins=keys.folder)
    else:
        log = AuditLog.create(folder, origin, keys.log, keys.folder)
    log.witnessing = witnessing
    try:
        if begun:
            _check_sites(log, keys)
            _note_other_software(log)
        else:
            _require_no_round(path, log)
            opening = LogOpening(priced, path, base, keys, witnessing.policy)
            _append_opening(log, opening)
            _write_parties(path, keys)
        total = _total(priced, log)
        return Logbook(log, keys, priced.budget, _tags(path), total)
    except BaseException:
        log.close()
        raise


def _append_opening(log: AuditLog, opening: LogOpening) -> None:
    try:
        log.append_all(opening_entries(opening, log.blobs))
    except AuditError as error:
        if log.size == 0:
            raise
        # A run that died before its first event left a log of something else.
        raise RunFolderError(
            f"`{opening.folder}` was begun with another configuration: {error.message}",
            "nothing was released from it: remove it, or choose another `run.out`",
        ) from error


def _require_no_round(path: Path, log: AuditLog) -> None:
    """Refuse to begin a run whose log knows of rounds: its journal is gone."""
    if any(log.entries(kind) for kind in (RoundEntry, AbortedRoundEntry)):
        raise AuditError(
            f"`{path}` was damaged: the log knows of rounds, and the journal of none",
            "nothing was spent; start another run, the budget of this one stays spent",
        )


def _check_sites(log: AuditLog, keys: RunKeys) -> None:
    """Refuse sites whose receipts nobody could tell from a stranger's."""
    [genesis] = log.entries(Genesis)
    parties = parties_of(genesis, log.blobs)
    listed = {party.key.keyid for party in parties if party.key is not None}
    for name, public in keys.public.items():
        if fingerprint(public) not in listed:
            where = "in the roster"
            hint = "a run goes on with the keys it began with: restore the roster"
            if name in keys.sites:
                where = f"in `{keys.folder / 'sites'}`"
                hint = "restore the folder with the keys (`audit.keys`) from a copy"
            raise RunFolderError(
                f"the key of site `{name}` {where} is not the one this run was begun "
                "with",
                hint,
            )


def _head(path: Path) -> tuple[str, int]:
    """Return origin and size of a checkpoint, which is verified later."""
    try:
        content = read_plain(path, MAX_NOTE)
        origin, size, *_ = content.decode().split("\n")
        return origin, int(size)
    except (OSError, ValueError) as error:
        raise RunFolderError(f"`{path}` cannot be read", OLD_COPY) from error


def _note_other_software(log: AuditLog) -> None:
    """Append that another version of this software goes on with the run."""
    [genesis] = log.entries(Genesis)
    before = sha256(genesis.software.encode())
    for change in log.entries(ChangeEntry):
        if change.what == "software":
            before = change.after or before
    after = sha256(SOFTWARE.encode())
    if before != after:
        entry = ChangeEntry(what="software", before=before, after=after)
        log.append(entry, f"software/{log.size}")


def _write_parties(path: Path, keys: RunKeys) -> None:
    parties = {name: fingerprint(public) for name, public in keys.public.items()}
    write_atomically(path / PARTIES, json.dumps(parties, indent=2).encode() + b"\n")


def _tags(path: Path) -> str:
    return sha256(read_plain(path / "tags.json", MOST_OF_A_DOCUMENT))


def _total(priced: PricedRun, log: AuditLog) -> RunningTotal | None:
    """Return the composition of the rounds in the log, under the plan's price."""
    claim = priced.claim(priced.programme.rounds)
    if claim is None:
        return None
    ceilings: dict[Tier | None, float] = {
        Tier.parse(name): tier.epsilon for name, tier in claim.tiers.items()
    }
    total = RunningTotal(
        claim.delta, claim.neighbours, claim.sites_per_person,
        {None: claim.epsilon, **ceilings},
    )  # fmt: skip
    charged: dict[int, RoundEntry | AbortedRoundEntry] = {}
    for entry in log.entries(RoundEntry):
        charged.setdefault(entry.round, entry)
    for lost in log.entries(AbortedRoundEntry):
        charged.setdefault(lost.round, lost)
    for number in sorted(charged):
        event = charged[number].event
        if event is not None:
            total = total.after(event.release())
    return total
