# SPDX-License-Identifier: Apache-2.0
"""The first entries of a run's audit log: its parties, its rules, its price.

They are one commit, made before the first round from the files of the run folder.
Opening is idempotent: after a crash the same entries are found and nothing is added.
"""

import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lexfed.audit.entries import (
    BudgetPlan,
    CohortAssumptions,
    Entry,
    FeatureTags,
    Genesis,
    Party,
    PolicyEntry,
    PublicKeyRecord,
    decimal,
)
from lexfed.audit.entries.masking_record import PROTOCOL
from lexfed.audit.entries.opening import roster_bytes
from lexfed.audit.log.audit_log import KeyedEntry
from lexfed.audit.rules import catalogue_bytes
from lexfed.audit.storage.blobs import Blobs
from lexfed.canonical import canonical_bytes, digest
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.privacy.claim.lines import stated_classes, stated_profiles
from lexfed.privacy.claim.schema import Claim
from lexfed.privacy.filters import filter_name
from lexfed.privacy.scopes import CountedRelease
from lexfed.run.audit_log.governance import governance_entries, party_of
from lexfed.run.audit_log.keys import RunKeys
from lexfed.run.audit_log.logbook import by_label, name_of
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.signing.keys import fingerprint
from lexfed.signing.strict_text import encode_base64
from lexfed.tiers import Tier
from lexfed.version import __version__

SOFTWARE = f"lexfed-{__version__}"
"""The writer of the log."""

_NOT_IN_A_CODE = re.compile(r"[^A-Za-z0-9._:()+-]+")


def new_origin(priced: PricedRun) -> str:
    """Return the name of a new log; its last part is the random id of the run."""
    config = priced.config
    return f"{config.audit.origin_of(config.run.name)}/{secrets.token_hex(8)}"


@dataclass(frozen=True)
class LogOpening:
    """A run with the files and keys that its first entries are made from.

    Attributes:
        folder: the run folder, with the files written before the first round.
        base: folder that paths in the configuration are relative to.
        keys: of coordinator, log and sites.
        policy: of the witnesses who must vouch for the log; None without witnesses.
    """

    priced: PricedRun
    folder: Path
    base: Path
    keys: RunKeys
    policy: bytes | None


def opening_entries(opening: LogOpening, blobs: Blobs) -> list[KeyedEntry]:
    """Return the entries that come before the first round, each with its key.

    The content that they cite by digest is put into `blobs`.
    """
    priced, folder = opening.priced, opening.folder
    entries: list[Entry] = [
        _genesis(opening, blobs),
        _policy(priced, blobs, folder),
        _tags(priced, blobs, folder),
        _plan(priced, blobs, folder),
    ]
    stated = governance_entries(priced.config.audit, opening.base, key_ids(opening))
    for blob in (blob for each in stated for blob in each.blobs):
        blobs.put(blob)
    return [
        *((entry, entry.kind) for entry in entries),
        *((each.entry, each.key) for each in stated),
    ]


def key_ids(opening: LogOpening) -> dict[str, str | None]:
    """Return the key id of every site by its name; None where sites have no keys."""
    keys = opening.keys.public
    names = opening.priced.programme.sites
    return {name: fingerprint(keys[name]) if keys else None for name in names}


def public_key(public: bytes) -> PublicKeyRecord:
    """Return a key as entries hold it."""
    return PublicKeyRecord(keyid=fingerprint(public), public=encode_base64(public))


def _genesis(opening: LogOpening, blobs: Blobs) -> Genesis:
    keys, config = opening.keys, opening.priced.config
    policy = opening.policy
    return Genesis(
        software=SOFTWARE,
        catalogue=blobs.put(catalogue_bytes()),
        config=_blob(blobs, opening.folder / "config.toml"),
        coordinator=public_key(keys.log.coordinator.public),
        log=keys.log.log.verifier.vkey,
        parties=(),
        witnesses=None if policy is None else blobs.put(policy),
        previous=None,
        test=config.run.test,
        roster=blobs.put(roster_bytes(_parties(opening))),
    )


def _parties(opening: LogOpening) -> tuple[Party, ...]:
    """Return the sites without their names."""
    audit, keys = opening.priced.config.audit, opening.keys.public
    return tuple(
        party_of(audit, opening.base, name, public_key(keys[name]) if keys else None)
        for name in opening.priced.programme.sites
    )


def _policy(priced: PricedRun, blobs: Blobs, folder: Path) -> PolicyEntry:
    config, programme, budget = priced.config, priced.programme, priced.budget
    rates = {stage.sampling_rate for stage in programme.stages}
    sampled = any(rate < 1.0 for rate in rates)
    return PolicyEntry(
        config=_blob(blobs, folder / "config.toml"),
        programme=programme.digest,
        mechanism=programme.mechanism,
        unit=programme.unit,
        neighbours=budget.neighbours,
        epsilon=decimal(budget.epsilon) if priced.private else None,
        delta=decimal(budget.delta) if priced.private else None,
        caps=by_label(budget.caps) if priced.private else {},
        accountant=config.privacy.accountant,
        trust=programme.trust,
        noise=_noise(priced),
        randomness="seeded" if config.run.test else "operating-system",
        sampling="poisson" if sampled else "none",
        secret_sampling=secret_sampling(priced),
        aggregation="none" if programme.cohort is None else PROTOCOL,
        transport=_transport(priced),
        records_per_person=priced.population.records_per_person,
        sites_per_person=budget.sites_per_person,
        policy=blobs.put(priced.policy.logged),
        cohort=_cohort(priced),
        receipts="event-answer" if programme.cohort is None else "event-digest",
    )


def _noise(priced: PricedRun) -> Literal["rounded-gaussian", "skellam-shares", "none"]:
    if priced.programme.cohort is not None:
        return "skellam-shares"
    return "rounded-gaussian" if priced.private else "none"


def _cohort(priced: PricedRun) -> CohortAssumptions | None:
    """Return the assumptions about the sites where nobody else is trusted."""
    found = priced.programme.cohort
    if found is None:
        return None
    return CohortAssumptions(
        sites=found.sites, colluders=found.colluders, dropouts=found.dropouts
    )


def _transport(priced: PricedRun) -> Literal["in-process", "flare"]:
    return "in-process" if priced.population.elsewhere is None else "flare"


def secret_sampling(priced: PricedRun) -> bool:
    """Return True if the guarantee rests on nobody knowing which sites took part.

    Under a client's guarantee a release that names or counts the participants is not
    the sampled Gaussian that was charged. Coins for records stay at their site.
    """
    stages = priced.programme.stages
    sampled = any(stage.sampling_rate < 1.0 for stage in stages)
    return priced.private and priced.programme.unit == "client" and sampled


def _tags(priced: PricedRun, blobs: Blobs, folder: Path) -> FeatureTags:
    tagged, encoding = priced.population.tagged, priced.population.encoding
    inputs = [n for tier in priced.read_tiers for n in encoding.columns_of(tier)]
    articles = {
        _NOT_IN_A_CODE.sub("-", f"{o.jurisdiction}:{o.reference}")[:96]
        for tag in tagged.tags.values()
        for o in tag.obligations
    }
    return FeatureTags(
        tags=_blob(blobs, folder / "tags.json"),
        encoding=_blob(blobs, folder / "encoding.json"),
        inputs=digest(sorted(inputs)),
        columns={name_of(tier): len(tagged.columns_in(tier)) for tier in Tier},
        jurisdictions=_jurisdictions(priced),
        obligations=tuple(sorted(articles)),
    )


def _jurisdictions(priced: PricedRun) -> tuple[str, ...]:
    """Return the laws that were asked, those in files of the user's own included."""
    asked = (law for law, _ in priced.population.tagged.asked.catalogues)
    return tuple(dict.fromkeys((*priced.config.law.jurisdictions, *asked)))


def _plan(priced: PricedRun, blobs: Blobs, folder: Path) -> BudgetPlan:
    claim: Claim | None = priced.claim(priced.programme.rounds)
    releases = _rows(priced.programme.charges())
    profiles = {} if claim is None else stated_profiles(claim)
    own = {
        name: {"sites": profile.sites, "releases": _rows(profile.releases)}
        for name, profile in profiles.items()
    }
    return BudgetPlan(
        plan=_blob(blobs, folder / "plan.json"),
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


def _blob(blobs: Blobs, path: Path) -> str:
    return blobs.put(read_plain(path, MOST_OF_A_DOCUMENT))
