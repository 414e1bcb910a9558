# SPDX-License-Identifier: Apache-2.0
"""Signed logs of runs that never happened, sound or wrong in one place.

`fake_run()` is a run as a list of drafts, with its blobs and files. A test changes a
draft, a blob or a file, and `write` makes a run folder of it in which every hash and
every signature is right: only what it says is wrong.

    run = fake_run()
    run.edit(Round, 1, epsilon="0.0")
    folder = run.write(tmp_path / "run")

Nothing is synced to disk, and keys come from fixed seeds, so it takes milliseconds.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from lexfed.audit.entries import (
    Aggregation,
    BudgetPlan,
    ChargedEvent,
    CompletionEntry,
    Entry,
    FeatureTags,
    Genesis,
    Participation,
    Party,
    PolicyEntry,
    PublicKeyRecord,
    RoundEntry,
    decimal,
    receipts,
)
from lexfed.audit.entries.envelopes import EntryPlace, RecordedEntry, seal, unseal
from lexfed.audit.entries.masking_record import aggregation_of
from lexfed.audit.rules import catalogue_bytes, certify
from lexfed.audit.tree import tiles
from lexfed.audit.tree.checkpoint import Checkpoint, cosign, sign
from lexfed.audit.tree.merkle import Tree, leaf_hash
from lexfed.canonical import canonical_bytes
from lexfed.data.encoding import build_encoding
from lexfed.data.schema import Column, Schema
from lexfed.errors import AuditError
from lexfed.law.tags import Obligation, Tag, TaggedSchema
from lexfed.privacy.claim.lines import ClaimProfile, scaled_releases
from lexfed.privacy.claim.proof import dump_claim
from lexfed.privacy.claim.schema import Claim
from lexfed.privacy.noise.shares import NoiseCohort
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.privacy.run_ledger import RunningTotal
from lexfed.privacy.scopes import CountedRelease
from lexfed.signing.keys import Signer
from lexfed.signing.notes import parse_note
from lexfed.signing.strict_text import encode_base64
from lexfed.terms import Accountant, Guarantee
from lexfed.tiers import Tier
from support.audit.masked_rounds import MaskedRounds
from support.privacy.claims import claim_of

RUN = "0123456789abcdef"
ORIGIN = f"audit.example/fake/{RUN}"
PROGRAMME = hashlib.sha256(b"programme").hexdigest()
START = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
DELTA = 1e-6
BUDGETS = {"record": "3.0", "special": "2.5"}
SALT = b"0123456789abcdef" * 2
CONFIG = b'# a run that never happened\n[run]\nname = "fake"\n'


def sha256(content: bytes) -> str:
    """Return the digest of a blob or file."""
    return hashlib.sha256(content).hexdigest()


def signer(name: str, seed: str = "") -> Signer:
    """Return the key that always belongs to this name (and seed)."""
    secret = hashlib.sha256(f"{name}/{seed}".encode()).digest()
    return Signer(name, Ed25519PrivateKey.from_private_bytes(secret))


def public_key(of: Signer) -> PublicKeyRecord:
    """Return the key as genesis lists it."""
    return PublicKeyRecord(keyid=of.fingerprint, public=encode_base64(of.public))


COORDINATOR = signer("coordinator")
LOG = signer(ORIGIN)
SITES = tuple(signer(f"site-{number}") for number in range(1, 6))


@dataclass
class Draft:
    """An entry before it is sealed.

    Attributes:
        entry: what it says.
        key: idempotency key.
        signers: who signs the envelope.
        place: other values of `origin`, `run`, `index`, `previous` or `time`.
        raw: bytes to store instead, whatever they are.
    """

    entry: Entry
    key: str
    signers: tuple[Signer, ...] = (COORDINATOR,)
    place: dict[str, Any] = field(default_factory=dict)
    raw: bytes | None = None


@dataclass
class FakeRun:
    """A run on paper: entries, blobs and files, to be changed and written."""

    drafts: list[Draft] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    log_signers: tuple[Signer, ...] = (LOG,)
    cosigners: tuple[tuple[Signer, datetime], ...] = ()

    def put(self, content: bytes) -> str:
        """Store a blob and return its digest."""
        self.blobs[sha256(content)] = content
        return sha256(content)

    def add(self, entry: Entry, key: str, *signers: Signer, **place: Any) -> Draft:
        """Append a draft."""
        draft = Draft(entry, key, signers or (COORDINATOR,), place)
        self.drafts.append(draft)
        return draft

    def of(self, kind: type[Entry]) -> list[Draft]:
        """Return the drafts of a kind."""
        return [draft for draft in self.drafts if isinstance(draft.entry, kind)]

    def edit(self, kind: type[Entry], number: int = 0, **changes: Any) -> Entry:
        """Change fields of the `number`-th entry of a kind, and return it."""
        draft = self.of(kind)[number]
        # Through the constructor: an entry that could not be read back is no test.
        draft.entry = type(draft.entry).model_validate({**dict(draft.entry), **changes})
        return draft.entry

    def sealed(self) -> list[bytes]:
        """Return the entries as the log stores them, each bound to its place."""
        found: list[bytes] = []
        for index, draft in enumerate(self.drafts):
            place = {
                "origin": ORIGIN,
                "run": RUN,
                "index": index,
                "previous": leaf_hash(found[-1]).hex() if found else "",
                "time": time_of(index),
                **draft.place,
            }
            time = place.pop("time")
            data = draft.raw or seal(
                draft.entry,
                EntryPlace(**place),
                key=draft.key,
                time=time,
                signers=draft.signers,
            )
            found.append(data)
        return found

    def records(self) -> list[RecordedEntry]:
        """Return the entries as a reader of the log sees them."""
        return [unseal(data, index) for index, data in enumerate(self.sealed())]

    def certify(self) -> Draft:
        """Append the certificate of the entries so far."""
        certificate = certify(self.records(), _Content(self.blobs))
        return self.add(certificate, f"certificate/{len(self.drafts)}")

    def write(self, folder: Path) -> Path:
        """Make the run folder and return it."""
        write_log(folder / "log", self.sealed(), self.log_signers, self.cosigners)
        for digest, content in self.blobs.items():
            place(folder / "log/blobs/sha256" / digest, content)
        for name, content in self.files.items():
            place(folder / name, content)
        return folder


@dataclass(frozen=True)
class _Content:
    blobs: dict[str, bytes]

    def get(self, digest: str) -> bytes:
        """Return a blob."""
        if digest not in self.blobs:
            raise AuditError(f"blob `{digest}` is missing")
        return self.blobs[digest]


def time_of(index: int) -> str:
    """Return when an entry is written: one every ten seconds."""
    return (START + timedelta(seconds=10 * index)).strftime("%Y-%m-%dT%H:%M:%SZ")


def place(path: Path, content: bytes) -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def write_log(
    folder: Path,
    entries: Sequence[bytes],
    signers: Sequence[Signer] = (LOG,),
    cosigners: Sequence[tuple[Signer, datetime]] = (),
    origin: str = ORIGIN,
) -> bytes:
    """Write a tiled log of any bytes, signed, and return its checkpoint."""
    tree = Tree()
    for entry in entries:
        tree.append(entry)
    files = tiles.bundle_files(entries, 0, tree.size)
    for path, content in [*files, *tiles.tile_files(tree, 0, tree.size)]:
        place(folder / path, content)
    checkpoint = Checkpoint(origin, tree.size, tree.root())
    note = parse_note(sign(checkpoint, *signers))
    place(folder / "signed" / str(tree.size), note.to_bytes())
    marks = [
        cosign(checkpoint.body(), witness, int(time.timestamp()))
        for witness, time in cosigners
    ]
    place(folder / "checkpoint", note.with_signatures(marks).to_bytes())
    return (folder / "checkpoint").read_bytes()


Mechanism = Literal["cascade", "none"]


def fake_run(
    *,
    rounds: tuple[int, int] = (2, 2),
    sites: int = 3,
    mechanism: Mechanism = "cascade",
    sampling_rate: float = 1.0,
    unit: Literal["record", "client"] = "record",
    test: bool = False,
    finished: bool = True,
    witnesses: bytes | None = None,
    sites_per_person: int = 1,
    simulated: int = 0,
    certified: bool = False,
    accountant: Accountant = "pld",
    guarantee: Guarantee = "envelope",
    adapted: Sequence[tuple[int, float]] | None = None,
    weights: Mapping[str, float] | None = None,
    classes: Mapping[str, float] | None = None,
    cohort: NoiseCohort | None = None,
    louder: float = 1.0,
) -> FakeRun:
    """Return a sound run: two towers, so many rounds of each.

    Args:
        rounds: of the towers of the personal and of the special columns.
        sites: how many take part in every round, and sign receipts.
        mechanism: `none` protects nothing.
        sampling_rate: of every round.
        unit: with `client` and sampling, participants are secret.
        test: whether the noise is seeded.
        finished: whether the run came to its end.
        witnesses: policy file of the witnesses.
        sites_per_person: sites one person may be at.
        simulated: sites without keys, which sign nothing.
        certified: whether a certificate follows.
        accountant: who prices the plan.
        guarantee: whether rounds are inside the planned ones or their sums.
        adapted: tower and factor on the planned noise of each round that was run.
        weights: of the sites of each profile; with 0 they sit out the second tower.
        classes: scale of each class of units.
        cohort: sites that share the noise and mask their sums; in even rounds as many
            are missing as may be.
        louder: how many times the noise that sites were asked for plan, rounds and
            claim state; sites sign what they were asked for.
    """
    made = _Making(
        FakeRun(),
        rounds,
        sites,
        mechanism,
        sampling_rate,
        unit,
        test,
        sites_per_person,
        simulated,
        accountant,
        guarantee,
        {
            name: ClaimProfile(2, weighed(planned(rounds, sampling_rate), weight))
            for name, weight in (weights or {}).items()
        },
        dict(classes or {}),
        cohort,
        louder,
    )
    made.opening(witnesses)
    if adapted is None:
        adapted = [(tower, 1.0) for tower in (0, 1) for _ in range(rounds[tower])]
    for number, (tower, factor) in enumerate(adapted, start=1):
        made.round(number, tower, factor)
    if finished:
        made.ending()
    if certified:
        made.run.certify()
    return made.run


def planned(
    rounds: tuple[int, int], rate: float, sites: int = 1
) -> list[CountedRelease]:
    """Return the releases of the two towers, for a person at so many sites."""
    towers = ((Tier.PERSONAL, 4.0), (Tier.SPECIAL, 8.0))
    if rate < 1.0:
        towers = ((Tier.PERSONAL, 3.0), (Tier.SPECIAL, 3.0))
    return [
        (
            Release(
                t.label, (ReleaseGroup(t.label, 1.0, sites * sigma),), rate, t, 100
            ),
            count,
        )
        for (t, sigma), count in zip(towers, rounds, strict=True)
    ]


def with_noise(release: Release, factor: float) -> Release:
    """Return a release with so many times the noise."""
    groups = tuple(replace(g, sigma=factor * g.sigma) for g in release.groups)
    return replace(release, groups=groups)


def weighed(
    plan: Sequence[CountedRelease], weight: float
) -> tuple[CountedRelease, ...]:
    """Return what sites of that weight are charged for."""
    if weight > 0.0:
        return scaled_releases(plan, weight)
    first, (second, count) = plan
    return (first, (replace(second, sampling_rate=0.0), count))


def plan_rows(releases: Sequence[CountedRelease]) -> list[dict[str, Any]]:
    """Return releases as a plan lists them."""
    return [{"release": r.to_json(), "count": n} for r, n in releases]


def tagged() -> TaggedSchema:
    """Return a schema of four columns, one of each tier but identifiers."""
    schema = Schema(
        (
            Column("ward", "category", values=("a", "b")),
            Column("age", "number", range=(0.0, 120.0)),
            Column("diagnosis", "flag"),
            Column("outcome", "flag"),
        ),
        target="outcome",
    )
    article = Obligation("gdpr", "GDPR Art. 9(1)")
    tiers = (Tier.NON_PERSONAL, Tier.PERSONAL, Tier.SPECIAL, Tier.SPECIAL)
    tags = {
        column.name: Tag(
            tier, "health", (article,) if tier is Tier.SPECIAL else (), "stated", "rule"
        )
        for column, tier in zip(schema.columns, tiers, strict=True)
    }
    return TaggedSchema(schema, tags)


def pretty(value: Any) -> bytes:
    """Return a JSON file as runs write it."""
    return (json.dumps(value, indent=2, allow_nan=False) + "\n").encode()


@dataclass
class _Making:
    run: FakeRun
    rounds: tuple[int, int]
    sites: int
    mechanism: Mechanism
    rate: float
    unit: Literal["record", "client"]
    test: bool
    sites_per_person: int
    simulated: int
    accountant: Accountant
    guarantee: Guarantee
    profiles: dict[str, ClaimProfile]
    classes: dict[str, float]
    cohort: NoiseCohort | None
    louder: float

    def __post_init__(self) -> None:
        asked = planned(self.rounds, self.rate, self.sites_per_person)
        self.plan = [(with_noise(release, self.louder), n) for release, n in asked]
        self.masked: MaskedRounds | None = None
        if self.cohort is not None:
            self.plan = [(replace(r, noise="skellam"), n) for r, n in self.plan]
            self.masked = MaskedRounds(
                self.cohort, SITES[: self.sites], COORDINATOR, ORIGIN, PROGRAMME
            )
        self.private = self.mechanism != "none"
        self.secret = self.unit == "client" and self.rate < 1.0
        self.price = self.claim(sum(self.rounds))
        ceilings: dict[Tier | None, float] = {None: self.price.epsilon}
        for name, tier in self.price.tiers.items():
            ceilings[Tier.parse(name)] = tier.epsilon
        self.total = RunningTotal(DELTA, "add-remove", self.sites_per_person, ceilings)

    def claim(self, rounds: int) -> Claim:
        encoding = build_encoding(tagged().schema, tagged().tiers())
        return claim_of(
            self.plan,
            delta=DELTA,
            accountant=self.accountant,
            unit=self.unit,
            trust="central" if self.cohort is None else "distributed",
            cohort=self.cohort,
            rounds=rounds,
            columns={tier: encoding.columns_of(tier) for tier in encoding.model_tiers},
            private=not self.test,
            sites_per_person=self.sites_per_person,
            guarantee=self.guarantee,
            profiles=self.profiles,
            classes=self.classes,
        )

    def opening(self, witnesses: bytes | None) -> None:
        run, tags = self.run, tagged()
        encoding = build_encoding(tags.schema, tags.tiers())
        plan = pretty({"mechanism": self.mechanism})
        files = {
            "config.toml": CONFIG,
            "tags.json": pretty(tags.to_dict()),
            "encoding.json": pretty(encoding.to_dict()),
            "plan.json": plan,
        }
        run.files |= files
        blob = {name: run.put(content) for name, content in files.items()}
        parties = tuple(
            Party(key=public_key(site), role="site") for site in SITES[: self.sites]
        ) + self.simulated * (Party(key=None, role="site"),)
        genesis = Genesis(
            software="lexfed-0.0", catalogue=run.put(catalogue_bytes()),
            config=blob["config.toml"], coordinator=public_key(COORDINATOR),
            log=LOG.verifier.vkey, parties=parties,
            witnesses=None if witnesses is None else run.put(witnesses),
            previous=None, test=self.test,
        )  # fmt: skip
        run.add(genesis, "genesis")
        run.add(self.policy(blob["config.toml"]), "policy")
        counts = {t.label: len(tags.columns_in(t)) for t in Tier if tags.columns_in(t)}
        feature_tags = FeatureTags.model_validate(
            {
                "tags": blob["tags.json"],
                "encoding": blob["encoding.json"],
                "inputs": sha256(canonical_bytes(sorted(encoding.columns))),
                "columns": counts,
                "jurisdictions": ("gdpr",),
                "obligations": ("gdpr:9(1)",),
            }
        )
        run.add(feature_tags, "feature-tags")
        run.add(self.budget_plan(blob["plan.json"]), "budget-plan")

    def policy(self, config: str) -> PolicyEntry:
        return PolicyEntry.model_validate(
            {
                "config": config,
                "programme": PROGRAMME,
                "mechanism": self.mechanism,
                "unit": self.unit,
                "neighbours": "add-remove",
                "epsilon": BUDGETS["record"] if self.private else None,
                "delta": decimal(DELTA) if self.private else None,
                "caps": {"special": BUDGETS["special"]} if self.private else {},
                "accountant": self.accountant,
                "trust": "central" if self.cohort is None else "distributed",
                "noise": self.noise(),
                "randomness": "seeded" if self.test else "operating-system",
                "sampling": "none" if self.rate == 1.0 else "poisson",
                "secret_sampling": self.secret,
                "aggregation": "none" if self.cohort is None else "masking",
                "transport": "in-process",
                "records_per_person": 1,
                "sites_per_person": self.sites_per_person,
                "policy": None,
                "cohort": self.assumed(),
                "receipts": "event-digest",
            }
        )

    def noise(self) -> str:
        if self.cohort is not None:
            return "skellam-shares"
        return "rounded-gaussian" if self.private else "none"

    def assumed(self) -> dict[str, int] | None:
        if self.cohort is None:
            return None
        parts = ("sites", "colluders", "dropouts")
        return {part: getattr(self.cohort, part) for part in parts}

    def budget_plan(self, plan: str) -> BudgetPlan:
        releases = plan_rows(self.plan)
        own = {
            name: {"sites": profile.sites, "releases": plan_rows(profile.releases)}
            for name, profile in self.profiles.items()
        }
        tiers = {name: decimal(t.epsilon) for name, t in self.price.tiers.items()}
        return BudgetPlan.model_validate(
            {
                "plan": plan,
                "releases": self.run.put(canonical_bytes(releases))
                if self.private
                else None,
                "rounds": sum(self.rounds),
                "epsilon": decimal(self.price.epsilon) if self.private else None,
                "delta": decimal(DELTA) if self.private else None,
                "tiers": tiers if self.private else {},
                "filter": self.price.accountant.filter,
                "profiles": self.run.put(canonical_bytes(own)) if own else None,
                "classes": {name: decimal(s) for name, s in self.classes.items()},
            }
        )

    def round(self, number: int, tower: int, factor: float) -> None:
        release = with_noise(self.plan[tower][0], factor)
        event = asked = None
        if self.private:
            event = ChargedEvent.of(release)
            asked = ChargedEvent.of(with_noise(release, 1.0 / self.louder))
        self.total = self.total.after(release)
        total = self.total
        state = f"state after round {number}".encode()
        tiers = {t.label: decimal(value) for t, value in total.tiers.items()}
        entry = RoundEntry.model_validate(
            {
                "round": number,
                "stage": release.name,
                "event": event,
                "epsilon": decimal(total.alone(release)) if self.private else None,
                "epsilon_so_far": decimal(total.record) if self.private else None,
                "tiers_so_far": tiers if self.private else {},
                "delta": decimal(DELTA) if self.private else None,
                "accountant": total.accountant if self.private else None,
                "budgets": BUDGETS if self.private else {},
                "tags": sha256(self.run.files["tags.json"]),
                "update": sha256(f"update {number}".encode()) if self.private else None,
                "state": sha256(state) if self.private else None,
                "participation": self.participation(number, asked),
                "aggregation": self.aggregation(number),
            }
        )
        self.run.files["state.safetensors"] = state
        self.run.add(entry, f"round/{number}")

    def alive(self, number: int) -> tuple[Signer, ...]:
        missing = 0 if self.cohort is None or number % 2 else self.cohort.dropouts
        return SITES[missing : self.sites]

    def aggregation(self, number: int) -> Aggregation:
        if self.masked is None:
            return Aggregation(protocol="none", threshold=None, survivors=None)
        query = sha256(f"query {number}".encode())
        record = self.masked.record(number, self.alive(number), query)
        self.run.put(record)
        return aggregation_of(record)

    def participation(self, number: int, event: ChargedEvent | None) -> Participation:
        signed = [
            receipts.sign(receipt_of(number, event), site)
            for site in self.alive(number)
        ]
        if not signed:
            return Participation(sites=self.simulated, receipts="none", digest=None)
        blob = receipts.encode(signed)
        if not self.secret:
            return Participation(
                sites=len(signed), receipts="open", digest=self.run.put(blob)
            )
        commitment, sealed = receipts.seal(blob, SALT)
        self.run.files[f"sealed/round-{number}.json"] = sealed
        return Participation(sites=None, receipts="sealed", digest=commitment)

    def ending(self) -> None:
        run, done = self.run, len(self.run.of(RoundEntry))
        claim = None
        if self.private:
            run.files["claim.json"] = pretty(dump_claim(self.claim(done)))
            claim = run.put(run.files["claim.json"])
        run.files["model.safetensors"] = b"the model"
        model = sha256(b"the model") if self.private else None
        completed = CompletionEntry(
            rounds=done,
            released=done,
            early=done < sum(self.rounds),
            claim=claim,
            model=model,
        )
        run.add(completed, "completed")


def receipt_of(
    number: int, event: ChargedEvent | None, /, **changes: Any
) -> receipts.Receipt:
    """Return the receipt every site signs for a round."""
    receipt = receipts.Receipt(
        log=ORIGIN,
        run=RUN,
        programme=PROGRAMME,
        round=number,
        query=None if event is None else sha256(f"query {number}".encode()),
        clips=() if event is None else tuple(group.clip for group in event.groups),
        charged=0 if event is None else number,
        event=None if event is None else event.digest,
    )
    return receipt.model_copy(update=changes)


Change = Callable[[FakeRun], None]
"""A way to spoil a run; what tests are parametrised with."""


def edited(kind: Any, number: int = 0, **changes: Any) -> Change:
    """Return what changes fields of one entry of a kind."""

    def change(run: FakeRun) -> None:
        run.edit(kind, number, **changes)

    return change


def spoiled(change: Change, **settings: Any) -> FakeRun:
    """Return a run in which one thing is wrong."""
    run = fake_run(**settings)
    change(run)
    return run
