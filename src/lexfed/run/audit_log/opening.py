# SPDX-License-Identifier: Apache-2.0
"""The audit log of a run, opened or begun: its parties, its rules, its price.

The first entries are one commit, made before the first round from the files of the run
folder. Opening is idempotent: after a crash the same entries are found and nothing is
added.
"""

import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from lexfed.audit.entries import (
    AbortedRoundEntry,
    BudgetPlan,
    ChangeEntry,
    CohortAssumptions,
    Entry,
    FeatureTags,
    Genesis,
    Party,
    PolicyEntry,
    PublicKeyRecord,
    RoundEntry,
    decimal,
)
from lexfed.audit.entries.masking_record import PROTOCOL
from lexfed.audit.entries.opening import parties_of, roster_bytes
from lexfed.audit.log.access import open_for_appending
from lexfed.audit.log.audit_log import AuditLog, KeyedEntry, WitnessPanel
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.rules import catalogue_bytes
from lexfed.audit.storage.blobs import Blobs
from lexfed.audit.storage.write_protocol import MAX_NOTE
from lexfed.audit.tree.trust_policy import parse_policy
from lexfed.audit.witness.client import targets_of
from lexfed.audit.witness.time_stamps import load_roots
from lexfed.canonical import canonical_bytes, digest
from lexfed.config.tables.audit import AuditTable
from lexfed.durable import write_atomically
from lexfed.errors import (
    AuditError,
    ConfigError,
    Problem,
    RunFolderError,
    system_reason,
)
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.privacy.claim.lines import stated_classes, stated_profiles
from lexfed.privacy.filters import filter_name
from lexfed.privacy.run_ledger import RunningTotal
from lexfed.privacy.scopes import CountedRelease
from lexfed.run.audit_log.governance import governance_entries, party_of
from lexfed.run.audit_log.logbook import (
    Logbook,
    RunKeys,
    by_label,
    name_of,
    run_keys,
    secret_sampling,
    sha256,
)
from lexfed.run.folder import LOG, OLD_COPY, PARTIES
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.signing.keys import fingerprint
from lexfed.signing.strict_text import encode_base64
from lexfed.tiers import Tier
from lexfed.version import __version__

SOFTWARE = f"lexfed-{__version__}"
"""The writer of the log."""

_NOT_IN_A_CODE = re.compile(r"[^A-Za-z0-9._:()+-]+")


@dataclass(frozen=True)
class LogOpening:
    """A run with the files and keys of its first entries, and the witnesses' policy."""

    priced: PricedRun
    folder: Path
    base: Path
    keys: RunKeys
    policy: bytes | None


def check_statements(priced: PricedRun, base: Path) -> None:
    """Check that everything `[audit]` names is there; nothing is written."""
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

    `path` is the run folder, with the files written before the first round; paths in
    the configuration are relative to `base`. `begun` says whether, by the journal, the
    opening entries are in the log.
    """
    config, folder = priced.config, path / LOG
    complete = (folder / "checkpoint").exists()
    # A log that was being made has its first checkpoint in `signed` already.
    signed = folder / ("checkpoint" if complete else "signed/0")
    if signed.exists():
        origin, size = _head(signed)
    else:  # a new log; the last part of its name is the random id of the run
        name = config.audit.origin_of(config.run.name)
        origin, size = f"{name}/{secrets.token_hex(8)}", 0
    if begun and size == 0:
        raise RunFolderError(f"`{folder}` lost the entries of this run", OLD_COPY)
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
    elif complete:
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
            parties = {n: fingerprint(public) for n, public in keys.public.items()}
            text = json.dumps(parties, indent=2) + "\n"
            write_atomically(path / PARTIES, text.encode())
        tags = sha256(read_plain(path / "tags.json", MOST_OF_A_DOCUMENT))
        return Logbook(log, keys, priced.budget, tags, _total(priced, log))
    except BaseException:
        log.close()
        raise


def _head(path: Path) -> tuple[str, int]:
    """Return origin and size of a checkpoint, which is verified later."""
    try:
        content = read_plain(path, MAX_NOTE)
        origin, size, *_ = content.decode().split("\n")
        return origin, int(size)
    except (OSError, ValueError) as error:
        raise RunFolderError(f"`{path}` cannot be read", OLD_COPY) from error


def _append_opening(log: AuditLog, opening: LogOpening) -> None:
    try:
        log.append_all(_opening_entries(opening, log.blobs))
    except AuditError as error:
        if log.size == 0:
            raise
        # A run that died before its first event left a log of something else.
        raise RunFolderError(
            f"`{opening.folder}` was begun with another configuration: {error.message}",
            "nothing was released from it: remove it, or start another run",
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


def _note_other_software(log: AuditLog) -> None:
    [genesis] = log.entries(Genesis)
    before = sha256(genesis.software.encode())
    for change in log.entries(ChangeEntry):
        if change.what == "software":
            before = change.after or before
    after = sha256(SOFTWARE.encode())
    if before != after:
        entry = ChangeEntry(what="software", before=before, after=after)
        log.append(entry, f"software/{log.size}")


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


def witnessing_of(audit: AuditTable, base: Path) -> WitnessPanel:
    """Return the witnesses, and the time-stamp authority, of a configuration."""
    authority = None
    if audit.timestamp is not None:
        authority = (audit.timestamp.url, base / audit.timestamp.roots)
        load_roots(authority[1])  # now, not after the last round
    if audit.policy is None:
        return WitnessPanel(authority=authority)
    path = base / audit.policy
    try:
        content = read_plain(path, MOST_OF_A_DOCUMENT, links=True)
    except OSError as error:
        raise RunFolderError(
            f"cannot read `{path}`: {system_reason(error)}",
            "`audit.policy` names a file with the keys of the witnesses",
        ) from error
    policy = parse_policy(content, str(path))
    urls = {**policy.urls, **audit.witnesses}
    _check_names(set(policy.witnesses), urls, str(path))
    return WitnessPanel(content, targets_of(policy, urls), authority)


def _check_names(known: set[str], urls: Mapping[str, str], path: str) -> None:
    problems = [
        Problem(f"`audit.witnesses.{name}`", f"`{path}` knows no witness of this name")
        for name in sorted(set(urls) - known)
    ]
    problems += [
        Problem(
            "`audit.witnesses`",
            f"nothing says where witness `{name}` of `{path}` listens",
            f'add `{name} = "https://..."` under `[audit.witnesses]`',
        )
        for name in sorted(known - set(urls))
    ]
    if problems:
        raise ConfigError(problems)


def _opening_entries(opening: LogOpening, blobs: Blobs) -> list[KeyedEntry]:
    """Return the entries before the first round; puts what they cite into `blobs`."""
    priced, folder = opening.priced, opening.folder
    entries: list[Entry] = [
        _genesis(opening, blobs),
        _policy_entry(priced, blobs, folder),
        _feature_tags(priced, blobs, folder),
        _budget_plan(priced, blobs, folder),
    ]
    names, keys = priced.programme.sites, opening.keys.public
    key_ids = {name: fingerprint(keys[name]) if keys else None for name in names}
    stated = governance_entries(priced.config.audit, opening.base, key_ids)
    for blob in (blob for each in stated for blob in each.blobs):
        blobs.put(blob)
    return [
        *((entry, entry.kind) for entry in entries),
        *((each.entry, each.key) for each in stated),
    ]


def _public_key(public: bytes) -> PublicKeyRecord:
    return PublicKeyRecord(keyid=fingerprint(public), public=encode_base64(public))


def _genesis(opening: LogOpening, blobs: Blobs) -> Genesis:
    keys, config = opening.keys, opening.priced.config
    policy = opening.policy
    return Genesis(
        software=SOFTWARE,
        catalogue=blobs.put(catalogue_bytes()),
        config=_put(blobs, opening.folder / "config.toml"),
        coordinator=_public_key(keys.log.coordinator.public),
        log=keys.log.log.verifier.vkey,
        parties=(),
        witnesses=None if policy is None else blobs.put(policy),
        previous=None,
        test=config.run.test,
        roster=blobs.put(roster_bytes(_parties(opening))),
    )


def _parties(opening: LogOpening) -> tuple[Party, ...]:
    audit, keys = opening.priced.config.audit, opening.keys.public
    return tuple(
        party_of(audit, opening.base, name, _public_key(keys[name]) if keys else None)
        for name in opening.priced.programme.sites
    )


def _policy_entry(priced: PricedRun, blobs: Blobs, folder: Path) -> PolicyEntry:
    config, programme, budget = priced.config, priced.programme, priced.budget
    sampled = any(stage.sampling_rate < 1.0 for stage in programme.stages)
    cohort = programme.cohort
    noise: Literal["rounded-gaussian", "skellam-shares", "none"]
    noise = "rounded-gaussian" if priced.private else "none"
    if cohort is not None:
        noise = "skellam-shares"
    return PolicyEntry(
        config=_put(blobs, folder / "config.toml"),
        programme=programme.digest,
        mechanism=programme.mechanism,
        unit=programme.unit,
        neighbours=budget.neighbours,
        epsilon=decimal(budget.epsilon) if priced.private else None,
        delta=decimal(budget.delta) if priced.private else None,
        caps=by_label(budget.caps) if priced.private else {},
        accountant=config.privacy.accountant,
        trust=programme.trust,
        noise=noise,
        randomness="seeded" if config.run.test else "operating-system",
        sampling="poisson" if sampled else "none",
        secret_sampling=secret_sampling(priced),
        aggregation="none" if cohort is None else PROTOCOL,
        transport="in-process" if priced.population.elsewhere is None else "flare",
        records_per_person=priced.population.records_per_person,
        sites_per_person=budget.sites_per_person,
        policy=blobs.put(priced.policy.logged),
        cohort=None
        if cohort is None
        else CohortAssumptions(
            sites=cohort.sites, colluders=cohort.colluders, dropouts=cohort.dropouts
        ),
        receipts="event-answer" if cohort is None else "event-digest",
    )


def _feature_tags(priced: PricedRun, blobs: Blobs, folder: Path) -> FeatureTags:
    tagged, encoding = priced.population.tagged, priced.population.encoding
    inputs = [n for tier in priced.read_tiers for n in encoding.columns_of(tier)]
    articles = {
        _NOT_IN_A_CODE.sub("-", f"{o.jurisdiction}:{o.reference}")[:96]
        for tag in tagged.tags.values()
        for o in tag.obligations
    }
    # The laws that were asked, those in files of the user's own included.
    asked = (law for law, _ in tagged.asked.catalogues)
    laws = tuple(dict.fromkeys((*priced.config.law.jurisdictions, *asked)))
    return FeatureTags(
        tags=_put(blobs, folder / "tags.json"),
        encoding=_put(blobs, folder / "encoding.json"),
        inputs=digest(sorted(inputs)),
        columns={name_of(tier): len(tagged.columns_in(tier)) for tier in Tier},
        jurisdictions=laws,
        obligations=tuple(sorted(articles)),
    )


def _budget_plan(priced: PricedRun, blobs: Blobs, folder: Path) -> BudgetPlan:
    claim = priced.claim(priced.programme.rounds)
    releases = _rows(priced.programme.charges())
    profiles = {} if claim is None else stated_profiles(claim)
    own = {
        name: {"sites": profile.sites, "releases": _rows(profile.releases)}
        for name, profile in profiles.items()
    }
    return BudgetPlan(
        plan=_put(blobs, folder / "plan.json"),
        releases=None if claim is None else blobs.put(canonical_bytes(releases)),
        rounds=priced.programme.rounds,
        epsilon=None if claim is None else decimal(claim.epsilon),
        delta=None if claim is None else decimal(claim.delta),
        tiers={}
        if claim is None
        else {name: decimal(tier.epsilon) for name, tier in claim.tiers.items()},
        filter=filter_name(
            priced.programme.guarantee, priced.config.privacy.accountant
        ),
        profiles=blobs.put(canonical_bytes(own)) if own else None,
        classes={}
        if claim is None
        else {name: decimal(scale) for name, scale in stated_classes(claim).items()},
    )


def _rows(releases: Iterable[CountedRelease]) -> list[dict[str, Any]]:
    return [{"release": r.to_json(), "count": count} for r, count in releases]


def _put(blobs: Blobs, path: Path) -> str:
    return blobs.put(read_plain(path, MOST_OF_A_DOCUMENT))
