# SPDX-License-Identifier: Apache-2.0
"""The claim as tables: the whole record first, then every tier, then the label."""

from dataclasses import dataclass

from lexfed.audit.entries import BudgetPlan, CompletionEntry, PolicyEntry
from lexfed.errors import AuditError
from lexfed.privacy.claim.schema import Claim, ClassRecord, ProfileRecord
from lexfed.report.dossier import Dossier
from lexfed.report.wording.plain_words import (
    ACCOUNTANTS,
    MECHANISMS,
    NEIGHBOURS,
    NOISES,
    TIERS,
    TRUST,
    assumption_rows,
    tier_name,
)
from lexfed.report.wording.rounding import (
    count,
    delta,
    round_up,
    round_up_all,
    round_up_digits,
)
from lexfed.signing.dsse import SignedEnvelope
from lexfed.toml_text import parse_toml

FILTERS = {
    "F0": "each round inside a release planned beforehand (filter F0)",
    "F1": "noise chosen along the way, Rényi divergences at an order fixed beforehand "
    "add up to those of the plan at most (filter F1)",
    "F2": "noise chosen along the way, squares of sensitivity over noise add up to "
    "those of the plan at most (filter F2)",
}
"""The filters that held rounds to the plan, whose price is the guarantee."""


@dataclass(frozen=True)
class GuaranteeFact:
    """One line of a statement, and the entry that holds it."""

    name: str
    value: str
    entry: int | None


@dataclass(frozen=True)
class GuaranteeScope:
    """The guarantee of the whole record, a tier, or the label, as printed.

    Attributes:
        relation: the difference between the two data sets compared.
        limit: the most it may reach; empty where nothing limits it.
        columns: the columns whose values it covers.
        entry: index of the entry that states it.
    """

    name: str
    relation: str
    epsilon: str
    limit: str
    delta: str
    columns: tuple[str, ...]
    entry: int | None


def facts(dossier: Dossier) -> tuple[GuaranteeFact, ...]:
    """Return the premises of the record's guarantee, as NIST SP 800-226 asks."""
    claim, policy = dossier.claim, dossier.entry(PolicyEntry)
    if claim is None:
        return () if policy is None else _decided(policy, dossier.index(PolicyEntry))
    at = dossier.index(CompletionEntry)
    rows = [
        ("Privacy unit", _unit(claim)),
        ("Neighbours", _neighbours(claim.neighbours)),
        ("ε", f"{round_up(claim.epsilon)}, for the whole run and whole plan, "
         "rounded up"),
        ("δ", f"{delta(claim.delta)}; {_sampler(claim)} more for errors of the noise "
         "sampler"),
        ("Accountant", f"{ACCOUNTANTS[claim.accountant.name]}, "
         f"{claim.accountant.version}; {FILTERS[claim.accountant.filter]}"),
        ("Mechanism", MECHANISMS[claim.mechanism.name]),
        ("Noise", f"{NOISES[claim.mechanism.noise]}, {_source(policy)}"),
        ("Sampling", _sampling(claim)),
        ("Trust", f"{claim.trust}: {TRUST[claim.trust]}"),
        *([] if claim.cohort is None else assumption_rows(claim.cohort)),
        ("Released", claim.released),
        ("Rounds", _rounds(claim.rounds, dossier.planned)),
    ]  # fmt: skip
    if claim.neighbours == "add-remove":
        replaced = (
            f"{round_up(claim.label.epsilon)}, which is what to compare a tier's with"
        )
        rows.insert(3, ("ε under replace-one", replaced))
    rows += [_profile(name, row) for name, row in claim.profiles.items()]
    rows += [_class(name, row) for name, row in claim.classes.items()]
    premises = [GuaranteeFact(name, value, at) for name, value in rows]
    line = _policy_line(dossier)
    if line is not None:
        decided = dossier.index(PolicyEntry)
        premises.append(GuaranteeFact("Budget policy", line, decided))
    return tuple(premises)


def _sampler(claim: Claim) -> str:
    """Return the sampler's cost to the record, and to the label where it is stated."""
    record, label = claim.delta_sampler, claim.label.delta_sampler
    parts = [delta(round_up_digits(record))]
    if label is not None:
        parts.append(f"for the label {delta(round_up_digits(label))}")
    return ", ".join(parts)


def _rounds(run: int, planned: int) -> str:
    if run <= planned:
        return f"{run} run of {planned} planned"
    return f"{run} run, {planned} planned: more rounds with more noise each"


def _profile(name: str, row: ProfileRecord) -> tuple[str, str]:
    tiers = [t for t in TIERS if t in row.tiers]
    numbers = round_up_all([row.epsilon, *(row.tiers[t] for t in tiers), row.label])
    parts = [f"{tier_name(t)} {n}" for t, n in zip(tiers, numbers[1:-1], strict=True)]
    return (
        f"Profile {name}",
        f"at {count(row.sites, 'site')} with a budget of their own: ε {numbers[0]} for "
        f"the whole record; {', '.join([*parts, f'label {numbers[-1]}'])}",
    )


def _class(name: str, row: ClassRecord) -> tuple[str, str]:
    return (
        f"Class {name}",
        f"ε {round_up(row.epsilon)} for the whole record of a unit of this class, whose"
        f" part counts {row.scale:g} times, compared with units of the same class; who "
        "is of it is covered by the claim only",
    )


def _decided(policy: PolicyEntry, at: int | None) -> tuple[GuaranteeFact, ...]:
    """Return the decisions on record, where there is no claim yet or none at all."""
    rows = [
        ("Privacy unit", _unit(policy)),
        ("Mechanism", MECHANISMS[policy.mechanism]),
        ("Trust", f"{policy.trust}: {TRUST[policy.trust]}"),
        *([] if policy.cohort is None else assumption_rows(policy.cohort)),
    ]  # fmt: skip
    if policy.epsilon is not None and policy.delta is not None:
        rows[1:1] = [
            ("Neighbours", _neighbours(policy.neighbours)),
            ("Budget ε", f"{round_up(policy.epsilon)}, for the whole run"),
            ("δ", delta(policy.delta)),
            ("Accountant", ACCOUNTANTS[policy.accountant]),
        ]
    return tuple(GuaranteeFact(name, value, at) for name, value in rows)


def scopes(dossier: Dossier) -> tuple[GuaranteeScope, ...]:
    """Return the guarantee of the record, every tier and the label, or the plan's."""
    claim = dossier.claim
    plan, policy = dossier.entry(BudgetPlan), dossier.entry(PolicyEntry)
    if policy is None or plan is None or plan.epsilon is None or plan.delta is None:
        return ()
    tiers = {str(tier): value for tier, value in plan.tiers.items()}
    where = dossier.index(BudgetPlan if claim is None else CompletionEntry)
    if claim is not None:
        tiers = {str(tier): repr(row.epsilon) for tier, row in claim.tiers.items()}
    tiers = {tier: tiers[tier] for tier in TIERS if tier in tiers}
    record = plan.epsilon if claim is None else repr(claim.epsilon)
    label = () if claim is None else (repr(claim.label.epsilon),)
    printed = round_up_all([record, *tiers.values(), *label])
    columns = _columns(dossier)
    small = delta(plan.delta)
    limits = {str(tier): cap for tier, cap in policy.caps.items()}
    limits["record"] = policy.epsilon or ""
    relation, limit = NEIGHBOURS[policy.neighbours], _limit(limits, "record")
    rows: list[tuple[str, str, str, str, tuple[str, ...]]] = [
        ("whole record", relation, printed[0], limit, ())
    ]
    for tier, epsilon in zip(tiers, printed[1:], strict=False):
        limit, read = _limit(limits, tier), columns.get(tier, ())
        rows.append((tier_name(tier), "replace its values", epsilon, limit, read))
    if label:
        target = () if dossier.tagged is None else (dossier.tagged.schema.target,)
        rows.append(("label", "replace-one", printed[-1], "none", target))
    return tuple(
        GuaranteeScope(name, relation, epsilon, limit, small, read, where)
        for name, relation, epsilon, limit, read in rows
    )


def _columns(dossier: Dossier) -> dict[str, tuple[str, ...]]:
    if dossier.claim is not None:
        return {tier: row.columns for tier, row in dossier.claim.tiers.items()}
    if dossier.tagged is None:
        return {}
    tiers = dossier.tagged.tiers()
    features = [column.name for column in dossier.tagged.features()]
    return {
        tier: tuple(name for name in features if tiers[name].label == tier)
        for tier in TIERS
    }


def _limit(limits: dict[str, str], scope: str) -> str:
    return round_up(limits[scope]) if limits.get(scope) else ""


def _unit(stated: Claim | PolicyEntry) -> str:
    if stated.unit == "client":
        return "one whole site"
    records, sites = stated.records_per_person, stated.sites_per_person
    rows = "one row" if records == 1 else f"up to {records} rows"
    places = "one site" if sites == 1 else f"up to {sites} sites"
    return f"one person: {rows}, at {places}"


def _neighbours(relation: str) -> str:
    if relation == "add-remove":
        return "add/remove: with the unit and without it"
    return "replace-one: with the unit and with another in its place"


def _source(policy: PolicyEntry | None) -> str:
    if policy is not None and policy.randomness == "operating-system":
        return "from the generator of the operating system"
    return "from a seed: NOT PRIVATE"


def _sampling(claim: Claim) -> str:
    if claim.sampling.scheme == "none":
        return "none: everybody takes part in every round"
    rates = ", ".join(f"{rate:g}" for rate in claim.sampling.rates)
    return f"Poisson, rates {rates}; {claim.sampling.secrecy}"


def _policy_line(dossier: Dossier) -> str | None:
    """Return the policy's name, title, signatures and hash; None if none is logged.

    Signatures are counted, not checked: the log cannot say whose keys count. They were
    checked before the run if `budget.policy_keys` asked for them.
    """
    policy = dossier.entry(PolicyEntry)
    if policy is None or policy.policy is None:
        return None
    name = dossier.table("budget").get("policy", "default")
    stated = f"{name}, SHA-256 {policy.policy[:16]}…"
    try:
        content = dossier.evidence.blobs.get(policy.policy)
        signed = ""
        if content.startswith(b"{"):
            envelope = SignedEnvelope.parse(content)
            content = envelope.payload
            signed = f", with {count(len(envelope.signatures), 'signature')}"
        title = parse_toml(content.decode()).get("title", "")
    except (AuditError, ValueError):  # erased, or not what it should be
        return stated
    return f"{stated}{signed}: {title}"
