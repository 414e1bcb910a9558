# SPDX-License-Identifier: Apache-2.0
"""Plans and results, in lines and tables for people; functions return lines.

The guarantee of the whole record comes first, with its unit, relation, accountant and
trust model; what is spent is rounded up and never down. Words may be changed, with the
expected outputs of the tests.
"""

from pathlib import Path

from lexfed.audit.storage.write_protocol import MAX_NOTE
from lexfed.audit.tree.checkpoint import Checkpoint
from lexfed.budget.importance_intervals import ImportanceInterval
from lexfed.budget.record_classes import class_tiers
from lexfed.budget.sites import BudgetProfile
from lexfed.config import Config
from lexfed.counted_words import counted
from lexfed.plain_files import read_plain
from lexfed.privacy.claim.schema import Claim
from lexfed.report.wording.plain_words import guarantee_in_brief
from lexfed.report.wording.rounding import ERRORS, metric, round_up, round_up_to
from lexfed.run import PricedRun, RunResult, notes_of
from lexfed.run.intake.column_importance import Importance
from lexfed.run.results.notes import adaptation_lines, sketch_lines
from lexfed.run.results.outlook import signal_line
from lexfed.signing.notes import parse_note
from lexfed.tiers import Tier

_TIER_WORDS = {
    Tier.SPECIAL: "special",
    Tier.PERSONAL: "personal",
    Tier.NON_PERSONAL: "free",
    Tier.IDENTIFIER: "identifiers dropped",
}
_IMPORTANCES_SHOWN = 4  # columns that are named, the most important first
_METRICS = {
    "outside-guarantee": "on test rows that the guarantee does not cover",
    "public": "on public test rows",
    "paid": "paid for from the budget, noised",
}


def law_line(priced: PricedRun) -> str:
    """Return how many columns each tier has."""
    tagged = priced.population.tagged
    counts = {tier: len(tagged.columns_in(tier)) for tier in Tier}
    target = tagged.schema.target
    words = {**_TIER_WORDS}
    if counts[Tier.IDENTIFIER] == 1:
        words[Tier.IDENTIFIER] = "identifier dropped"
    parts = [
        f"{counts[tier]} {words[tier]}"
        for tier in (Tier.SPECIAL, Tier.PERSONAL, Tier.NON_PERSONAL, Tier.IDENTIFIER)
        if counts[tier]
    ]
    return (
        f"{counted(sum(counts.values()), 'column')}: {', '.join(parts)}, each with a "
        "reason; "
        f"target `{target}` is {tagged.tier_of(target).label}"
    )


def opening(priced: PricedRun) -> list[str]:
    """Return what is said before training."""
    lines = [f"  law      {law_line(priced)}", *budget_lines(priced)]
    policy = priced.policy.policy
    if policy.name != "default":
        lines.append(f"  policy   {policy.name}: {policy.title}")
    lines += [f"  note     {note}" for note in notes_of(priced)]
    lines += [f"  adapts   {line}" for line in adaptation_lines(priced)]
    lines += [f"  sketches {line}" for line in sketch_lines(priced)]
    if priced.config.data.test_size > 0:
        lines.append(f"  metrics  {_METRICS[priced.config.evaluation.metrics]}")
    return lines


def budget_lines(priced: PricedRun) -> list[str]:
    """Return what a run guarantees, and what it takes part with."""
    claim = priced.claim(priced.programme.rounds)
    if claim is None:
        return ["  budget   none: NOT PRIVATE, no noise is added"]
    lines = []
    if claim.stamp:
        lines.append(f"  budget   {claim.stamp}: the noise is seeded (`run.test`)")
    lines.append(f"  budget   {guarantee_in_brief(claim)}")
    for name, row in reversed(claim.tiers.items()):
        columns = ", ".join(row.columns[:4]) + (", …" if len(row.columns) > 4 else "")
        price = round_up(row.epsilon)
        lines.append(f"           {name:<13}{price:>6} per attribute   {columns}")
    # Every release may depend on the label, so it has the record's guarantee under
    # replacement, whatever its tier, and no tier's cap binds it.
    tagged, price = priced.population.tagged, round_up(claim.label.epsilon)
    target = tagged.schema.target
    lines.append(
        f"           {'label':<13}{price:>6} when replaced   {target} "
        f"({tagged.tier_of(target).label}): no cap binds it"
    )
    if priced.programme.cohort is not None:
        lines.append(f"  shares   {priced.programme.cohort}")
    lines += profile_lines(priced, claim)
    lines += _class_lines(priced, claim)
    lines += importance_lines(priced)
    unread = set(priced.population.encoding.model_tiers) - set(priced.tower_tiers)
    lines += [
        f"           {tier.label} columns are left out: at this budget they would add "
        "noise, not signal"
        for tier in sorted(unread)
    ]
    return lines


def _class_lines(priced: PricedRun, claim: Claim) -> list[str]:
    lines = [
        f"  class    {one.name}: {round_up(claim.classes[one.name].epsilon)} "
        f"per record where {one.where} (contributions times {one.scale:g})"
        for one in priced.programme.classes
    ]
    by_rules = class_tiers(priced.population.classes)
    if lines and by_rules:
        lines.append(
            f"           rules read {by_rules[-1].label} columns, so every release "
            "counts for the tiers up to that one"
        )
    return lines


def profile_lines(priced: PricedRun, claim: Claim) -> list[str]:
    """Return one line per profile for its budget, and one for how it takes part."""
    lines = []
    for profile in priced.profiles:
        record = claim.profiles[profile.name]
        sites = counted(record.sites, "site")
        parts = [f"ε {round_up(record.epsilon)} of {profile.budget.epsilon:g}"]
        parts += [
            f"{tier} {round_up(epsilon)}{_cap(profile, tier)}"
            for tier, epsilon in record.tiers.items()
        ]
        parts.append(f"label {round_up(record.label)}")
        lines.append(f"  profile  {profile.name}, {sites}: {', '.join(parts)}")
        lines.append(f"           takes part {_taking_part(priced, profile)}")
    return lines


def _cap(profile: BudgetProfile, tier: str) -> str:
    cap = profile.budget.caps.get(Tier.parse(tier))
    return "" if cap is None else f" of {cap:g}"


def _taking_part(priced: PricedRun, profile: BudgetProfile) -> str:
    programme = priced.programme
    places = [programme.sites.index(site) for site in profile.sites]
    found = {}
    for stage in programme.stages:
        tier = programme.shapes[stage.tower].tier.label
        weight = max(stage.factors[place] for place in places)
        found[tier] = weight * max(stage.rates[place] for place in places)
    return ", ".join(
        f"with {part:.0%} in {tier}" if part else f"not in {tier}"
        for tier, part in found.items()
    )


def closing(config: Config, result: RunResult) -> list[str]:
    """Return what is said after training."""
    lines = []
    if result.stopped:
        lines.append(
            f"  stopped  {result.stopped}; {counted(result.rounds, 'round')} kept"
        )
    if result.lost:
        lines.append(
            f"  lost     {counted(result.lost, 'round')} interrupted or refused after "
            "being charged: paid for, not used"
        )
    lines += [f"  adapted  {line}" for line in result.adapted]
    lines += [f"  sketched {line}" for line in result.sketched]
    if result.metrics:
        values = ", ".join(f"{k} {metric(k, v)}" for k, v in result.metrics.items())
        if any(name in ERRORS for name in result.metrics):
            values += "; errors in units of the target"
        lines.append(f"  result   {values} ({_METRICS[config.evaluation.metrics]})")
    if result.verdict:
        lines.append(f"  noise    {result.verdict}")
    if len(result.gains) > 1:
        steps = ", then ".join(f"{v:.3f} with {k}" for k, v in result.gains.items())
        lines.append(f"  tiers    {steps}")
    lines.append(f"  audit    {audit_line(result.folder)}")
    lines.append(f"\nRun folder: {result.folder}")
    return lines


def audit_line(folder: Path) -> str:
    """Return what the log has come to, and how to check it."""
    note = parse_note(read_plain(folder / "log" / "checkpoint", MAX_NOTE))
    head = Checkpoint.parse(note.body)
    others = len(note.signatures) - 1
    by = f"signed, {counted(others, 'cosignature')}" if others else "signed"
    root = head.root.hex()
    return (
        f"{counted(head.size, 'entry')}, root {root[:4]}…{root[-4:]}, {by}; check it "
        f"with "
        f"`lexfed verify {folder}`"
    )


def plan_table(priced: PricedRun) -> str:
    """Return the plan for people."""
    claim = priced.claim(priced.programme.rounds)
    lines = opening(priced)
    if claim is None:
        return "\n".join(lines)
    lines += ["", f"  {'release':<30}{'clip':>8}{'sigma':>12}{'σ/clip':>10}"
              f"{'rate':>7}{'rounds':>8}"]  # fmt: skip
    for release, count in priced.programme.charges():
        for group in release.groups:
            name = group.name
            if name != release.name and len(release.groups) > 1:
                name = f"{release.name}: {name}"
            lines.append(
                f"  {name:<30}{group.clip:>8.4g}{group.sigma:>12.5g}"
                f"{group.sigma / group.clip:>10.4g}{release.sampling_rate:>7g}"
                f"{count:>8}"
            )
    signals = signal_line(priced)
    if signals:
        lines += ["", f"  signal   over noise, as expected: {signals}"]
    rounds, budget = priced.programme.rounds, priced.budget.epsilon
    fit = "1 round fits" if rounds == 1 else f"{rounds} rounds fit"
    # What is left after something was paid for has many digits.
    whole = f"{budget:g}" if budget == round(budget, 2) else round_up(budget)
    lines += ["", f"  {fit}: the record reaches ε {round_up(claim.epsilon)} of "
              f"{whole}; nothing was spent"]  # fmt: skip
    return "\n".join(lines)


def importance_table(found: Importance) -> list[str]:
    """Return a line for each column, with its interval where noise is known."""
    ranking = found.ranking
    known = {} if ranking is None else ranking.intervals
    return [
        f"{value:8.3f}  {_interval(known.get(name)):<16}  {name}"
        for name, value in found.ordered
    ]


def _interval(one: ImportanceInterval | None) -> str:
    return "not known" if one is None else f"{one.low:.3f} to {one.high:.3f}"


def importance_lines(priced: PricedRun) -> list[str]:
    """Return what a plan says about importances; nothing where they play no part."""
    found, config = priced.population.importance, priced.config.budget
    lines = []
    if found.source:
        order = found.ordered
        words = ", ".join(
            f"{name} {value:.2g}" for name, value in order[:_IMPORTANCES_SHOWN]
        )
        more = ", …" if len(order) > _IMPORTANCES_SHOWN else ""
        lines.append(f"           importance ({found.source}): {words}{more}")
        if found.ranking is not None:
            lines.append(f"           {found.ranking}")
    if found.left_out:
        lines.append(
            "           left out as unimportant, not read: " + ", ".join(found.left_out)
        )
    joint = priced.joint_epsilon
    if joint is not None:
        shown = float(round_up_to(4, joint))
        lines.append(
            f"           together with {priced.paid_before} paid for before the record "
            f"reaches ε {shown:g} of {config.epsilon:g}"
        )
    return lines
