# SPDX-License-Identifier: Apache-2.0
"""The audit log of a run after its opening: one entry as each thing happens.

Every round is one commit, durable before its release. The keys that sign it are made on
first use, kept for the next run, never overwritten:

    keys/coordinator.pem    signs entries of the log
    keys/log.pem            signs checkpoints; another custodian may hold it
    keys/log-2.pem          the same after a rotation; new runs take the newest
    keys/sites/3.pem        signs receipts of the third site (engine `inprocess`)
    keys/pins/              the last checkpoint of every log these keys have written

The keys of sites in a deployment are not here: each keeps its own, and the roster has
their public halves. Whoever can read a private key (mode 0600) can sign in its name.
"""

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from lexfed.audit.entries import (
    AbortedRoundEntry,
    Aggregation,
    ChangeEntry,
    ChargedEvent,
    CompletionEntry,
    Participation,
    RefusalEntry,
    ResumptionEntry,
    RoundEntry,
    decimal,
)
from lexfed.audit.entries.masking_record import aggregation_of
from lexfed.audit.log.access import key_files
from lexfed.audit.log.audit_log import AuditLog, LogKeys
from lexfed.audit.rules.evaluation import certify
from lexfed.audit.vocabulary import AbortCause, KeyRole
from lexfed.budget.noise_plan import Budget
from lexfed.errors import Refused
from lexfed.federation.programme.messages import Query
from lexfed.plain_files import MOST_OF_A_MODEL, read_plain
from lexfed.privacy.releases import Release
from lexfed.privacy.run_ledger import RunningTotal
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.signing.keys import Signer, create_key, fingerprint, load_key
from lexfed.terms import TierName
from lexfed.tiers import Tier

if TYPE_CHECKING:
    from lexfed.federation.coordinator.rounds import RoundRelease


@dataclass(frozen=True)
class RunKeys:
    """The signers of a run, and the public keys of sites `elsewhere`.

    Sites that are in this process have signers, unless they are simulated as one.
    """

    folder: Path
    log: LogKeys
    sites: Mapping[str, Signer]
    elsewhere: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def public(self) -> dict[str, bytes]:
        """Public key of every site that signs receipts, by its name."""
        return {
            **{name: signer.public for name, signer in self.sites.items()},
            **self.elsewhere,
        }


def run_keys(
    folder: Path, origin: str, sites: Sequence[str], make: bool = True
) -> RunKeys:
    """Return the keys of a run; the log's key signs under the name `origin`.

    Missing keys are made if `make` says so, and a `RunFolderError` otherwise, as is a
    key that others can read. `sites` names those that sign receipts in this process.
    """

    def signer(path: Path, name: str) -> Signer:
        missing = make and not os.path.lexists(path)
        return Signer(name, create_key(path) if missing else load_key(path))

    def newest(role: KeyRole, name: str) -> Signer:
        files = [folder / f"{role}.pem", *key_files(folder, role).values()]
        return signer(files[-1], name)

    coordinator = newest("coordinator", "coordinator")
    log = LogKeys(coordinator=coordinator, log=newest("log", origin))
    signers = {
        name: signer(folder / "sites" / f"{number}.pem", f"site-{number}")
        for number, name in enumerate(sites, start=1)
    }
    return RunKeys(folder, log, signers)


@dataclass
class Logbook:
    """Appends the entries of one run.

    Attributes:
        tags: digest of the tags in force.
        total: the composition of the rounds in the log; None without privacy.

    Guarantees:
        On return from `round` the entry is durable: the release may leave.
        Without privacy nothing that was computed from data is hashed.
    """

    log: AuditLog
    keys: RunKeys
    budget: Budget
    tags: str
    total: RunningTotal | None

    def round(
        self,
        query: Query,
        released: "RoundRelease",
        state: bytes,
        present: Participation,
        record: bytes | None = None,
    ) -> None:
        """Append a round, with the released state after it.

        `record` is that of a masked sum; None where sums were not hidden.
        """
        release = query.release
        total = self._after(release)
        common: dict[str, Any] = {
            "round": query.round,
            "stage": query.kind,
            "tags": self.tags,
            "participation": present,
            "aggregation": self._aggregation(record),
        }
        if release is None or total is None:
            entry = RoundEntry(
                **common, event=None, epsilon=None, epsilon_so_far=None,
                tiers_so_far={}, delta=None, accountant=None, budgets={}, update=None,
                state=None,
            )  # fmt: skip
        else:
            entry = RoundEntry(
                **common,
                event=ChargedEvent.of(release),
                epsilon=decimal(total.alone(release)),
                epsilon_so_far=decimal(total.record),
                tiers_so_far=by_label(total.tiers),
                delta=decimal(total.delta),
                accountant=total.accountant,
                budgets=self._budgets(),
                update=sha256(released.update.astype("<i8").tobytes()),
                state=sha256(state),
            )
        self.log.append(entry, f"round/{query.round}")
        self.total = total

    def _aggregation(self, record: bytes | None) -> Aggregation:
        if record is None:
            return Aggregation(protocol="none", threshold=None, survivors=None)
        self.log.blobs.put(record)
        return aggregation_of(record)

    def aborted(self, number: int, release: Release | None, cause: AbortCause) -> None:
        """Append that a charged round is not part of the model.

        An interrupted round may have left something behind; one whose answers were
        refused did not. An entry of the round that is there already stays.
        """
        if any(entry.round == number for entry in self.log.entries(AbortedRoundEntry)):
            return
        entry = AbortedRoundEntry(
            round=number,
            cause=cause,
            released="unknown" if cause == "interrupted" else "no",
            event=None if release is None else ChargedEvent.of(release),
        )
        logged = self.round_entry(number) is not None
        self.log.append(entry, f"aborted/{number}")
        if not logged:
            self.total = self._after(release)

    def refused(self, number: int, refusal: Refused) -> None:
        """Append that a round was refused, and by which budget.

        After a crash the same round may be refused again, for another reason.
        """
        entry = RefusalEntry(
            round=number,
            by="site" if refusal.scope == "site" else "coordinator",
            scope=refusal.scope or "plan",
            would_reach=_decimal(refusal.would_reach),
            limit=_decimal(refusal.limit),
        )
        earlier = [e for e in self.log.entries(RefusalEntry) if e.round == number]
        if entry not in earlier:
            again = f"/{len(earlier) + 1}" if earlier else ""
            self.log.append(entry, f"refusal/{number}{again}")

    def resumed(self, rounds: int) -> None:
        """Append that the process started again, unless the end is logged already."""
        if self.log.entries(CompletionEntry):
            return
        self.log.append(ResumptionEntry(rounds=rounds), f"resumed/{self.log.size}")

    def frozen(self, tower: int) -> None:
        """Append, once, that a tower's adaptation froze at its safe value."""
        entry = ChangeEntry(what="adaptation-frozen", before=None, after=None)
        self.log.append(entry, f"frozen/{tower}")

    def excluded(self, site: str) -> None:
        """Append, once, that a site broke the rules of masked sums and is left out."""
        who = fingerprint(self.keys.public[site])
        entry = ChangeEntry(what="site-excluded", before=who, after=None)
        self.log.append(entry, f"excluded/{who[:32]}")

    def completed(
        self, done: int, released: int, planned: int, claim: Path | None, model: Path
    ) -> None:
        """Append the end of the run, then the outcomes of the rule catalogue.

        `done` counts the rounds that are over, lost ones included, `released` those
        that are part of the model. `claim` and `model` are files; there is no claim
        without privacy.
        """
        entry = CompletionEntry(
            rounds=done,
            released=released,
            early=done < planned,
            claim=None if claim is None else self.log.blobs.put(_content(claim)),
            model=None if claim is None else sha256(_content(model)),
        )
        self.log.append(entry, "completed")
        index = next(r.index for r in self.log.records if r.key == "completed")
        until_now = self.log.records[: index + 1]
        self.log.append(certify(until_now, self.log.blobs), "certificate/completed")
        self.log.witnessing.ask(self.log, again=True)
        self.log.witnessing.stamp(self.log)

    def round_entry(self, number: int) -> RoundEntry | None:
        """Return the entry of a round, if it is durable."""
        entries = {entry.round: entry for entry in self.log.entries(RoundEntry)}
        return entries.get(number)

    def is_over(self, number: int) -> bool:
        """Return True if the log holds a round or its end: it is not asked again."""
        aborted = (entry.round for entry in self.log.entries(AbortedRoundEntry))
        return self.round_entry(number) is not None or number in aborted

    def close(self) -> None:
        """Let others write."""
        self.log.close()

    def _budgets(self) -> dict[Literal["record"] | TierName, str]:
        budgets: dict[Literal["record"] | TierName, str] = {
            "record": decimal(self.budget.epsilon)
        }
        for name, cap in by_label(self.budget.caps).items():
            budgets[name] = cap
        return budgets

    def _after(self, release: Release | None) -> RunningTotal | None:
        if self.total is None or release is None:
            return self.total
        return self.total.after(release)


def secret_sampling(priced: PricedRun) -> bool:
    """Return True if the guarantee rests on nobody knowing which sites took part.

    Under a client's guarantee a release that names or counts the participants is not
    the sampled Gaussian that was charged. Coins for records stay at their site.
    """
    stages = priced.programme.stages
    sampled = any(stage.sampling_rate < 1.0 for stage in stages)
    return priced.private and priced.programme.unit == "client" and sampled


def by_label(values: Mapping[Tier, float]) -> dict[TierName, str]:
    """Return numbers of tiers as entries hold them."""
    return {name_of(tier): decimal(value) for tier, value in sorted(values.items())}


def name_of(tier: Tier) -> TierName:
    """Return the name of a tier as entries hold it."""
    return cast(TierName, tier.label)


def sha256(content: bytes) -> str:
    """Return the digest of some bytes, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def _content(path: Path) -> bytes:
    return read_plain(path, MOST_OF_A_MODEL)


def _decimal(value: float | None) -> str | None:
    # A budget can be exceeded without a bound; entries hold finite numbers only.
    return None if value is None or not math.isfinite(value) else decimal(value)
