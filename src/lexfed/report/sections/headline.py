# SPDX-License-Identifier: Apache-2.0
"""The first sentence of the report, the limits of the guarantee, and open tasks."""

from dataclasses import dataclass

from lexfed.audit.entries import Document, PolicyEntry, PrivacyTest, RefusalEntry
from lexfed.audit.verify import Status
from lexfed.report.dossier import Dossier
from lexfed.report.sections.certificate import certificate
from lexfed.report.sections.log_entries import SPLIT_VIEW
from lexfed.report.sections.spending import why_refused
from lexfed.report.wording.plain_words import (
    NEIGHBOURS,
    UNITS,
    assumption_sentence,
    guarantee,
    meaning,
    trust,
)
from lexfed.report.wording.rounding import count, delta, round_up

_ALWAYS = (
    "A budget belongs to one run. Several runs about the same people add up, and "
    "nothing here adds them up.",
    "A tier's guarantee speaks about the values in its columns. It says nothing about "
    "what other columns tell about them, nor about whether a person took part.",
    "The guarantee holds for people as keys name them: one human being under two "
    "keys counts as two people here.",
)


@dataclass(frozen=True)
class Headline:
    """The verdict, and whether it is `sound`: every check passed.

    Attributes:
        guarantee: the whole record's guarantee, with all it depends on.
        meaning: of its numbers, without symbols; empty where there are none.
        trust: the assumption about sites that share the noise, if they do.
        caveat: the questions that the verdict leaves open.
    """

    sentence: str
    sound: bool
    guarantee: str
    meaning: str
    trust: str
    caveat: str


def headline(dossier: Dossier) -> Headline:
    """Return the verdict on a run.

    Guarantees:
        A failed check is said before anything else.
        A run without privacy is called that before anything about its log.
        Nothing is called safe, lawful or anonymous.
    """
    policy = dossier.entry(PolicyEntry)
    cohort = None if dossier.stamp or policy is None else policy.cohort
    notes = [c for c in dossier.verdict.checks if c.status is Status.NOTE]
    left_open = f"{count(len(notes), 'note')} below say what else the log leaves open."
    split = "" if dossier.witnessed else f"{SPLIT_VIEW} "
    return Headline(
        sentence=_sentence(dossier),
        sound=not dossier.failures,
        guarantee=_guarantee(dossier),
        meaning=_meaning(dossier),
        trust="" if cohort is None else assumption_sentence(cohort),
        caveat=split + left_open,
    )


def _sentence(dossier: Dossier) -> str:
    checks = dossier.verdict.checks
    failed = len(dossier.failures)
    if failed:
        total = sum(check.status is not Status.NOTE for check in checks)
        return (
            f"This log does not verify: {failed} of {count(total, 'check')} failed. "
            "Rely on nothing below."
        )
    passed = count(sum(check.status is Status.OK for check in checks), "check")
    log = f"The log verifies: {passed} passed, none failed."
    if dossier.stamp:
        return f"Not private: {why_not_private(dossier)}. {log}"
    return f"{log} {_progress(dossier)}"


def why_not_private(dossier: Dossier) -> str:
    """Return the reason why nothing is guaranteed; empty where something is."""
    if not dossier.stamp:
        return ""
    policy = dossier.entry(PolicyEntry)
    if policy is not None and policy.mechanism == "none":
        return "no noise was added, so nothing is guaranteed about anybody"
    return "the noise was seeded for a test, so whoever has the seed can remove it"


def _progress(dossier: Dossier) -> str:
    done, planned = len(dossier.rounds), dossier.planned
    rounds = f"{done} of {count(planned, 'planned round')}"
    match dossier.state:
        case "refused":
            refusal = dossier.entry(RefusalEntry)
            why = "" if refusal is None else f": {why_refused(refusal)}"
            return f"Nothing was released{why}."
        case "unfinished":
            return f"The run is not finished: {rounds} are in the log."
        case "early" if dossier.claim and dossier.claim.accountant.filter != "F0":
            return (
                f"The run took {count(done, 'round')} where {planned} were planned, "
                "within the plan's sums; its guarantee is that of the whole plan."
            )
        case "early":
            return (
                f"The run ended early, after {rounds}; its guarantee is that of the "
                "whole plan."
            )
        case _:
            return "Every budget recomputed from it was kept."


def _guarantee(dossier: Dossier) -> str:
    if dossier.stamp:
        return "NOT PRIVATE: no guarantee"
    if dossier.claim is not None:
        return guarantee(dossier.claim)
    policy = dossier.entry(PolicyEntry)
    if policy is None or policy.epsilon is None or policy.delta is None:
        return "no guarantee is in the log"
    return (
        f"budget (ε, δ) = ({round_up(policy.epsilon)}, {delta(policy.delta)}) per "
        f"{UNITS[policy.unit]} under {NEIGHBOURS[policy.neighbours]} by "
        f"{policy.accountant.upper()}, trust: {trust(policy.trust, policy.cohort)}"
    )


def _meaning(dossier: Dossier) -> str:
    policy = dossier.entry(PolicyEntry)
    if dossier.stamp or policy is None:
        return ""
    if dossier.claim is not None:
        claim = dossier.claim
        return meaning(claim.epsilon, claim.delta, claim.unit, claim.neighbours)
    if policy.epsilon is None or policy.delta is None:
        return ""
    return meaning(policy.epsilon, policy.delta, policy.unit, policy.neighbours)


@dataclass(frozen=True)
class OpenItem:
    """Something open, and the entry it follows from."""

    words: str
    entry: int | None = None


def limits(dossier: Dossier) -> tuple[str, ...]:
    """Return the limits of the guarantee: the claim's own, then those of every run."""
    listed = () if dossier.claim is None else dossier.claim.not_covered
    own = tuple(f"Not covered: {item}." for item in listed)
    split = () if dossier.witnessed else (SPLIT_VIEW,)
    return (*own, *_ALWAYS, *split)


def proxies(dossier: Dossier) -> str:
    """Return the sentence about columns that reveal others."""
    reviews = [
        record.index
        for record in dossier.of(Document)
        if record.entry.what == "proxy-review"
    ]
    known = (
        f"A review by people is on record (entry {reviews[-1]}); what it says is for "
        "its readers."
        if reviews
        else "No review of proxies is on record."
    )
    return (
        f"{known} A column of a lower tier that tells something about a more sensitive "
        "one, as a postcode may about ethnic origin, is released at the price of its "
        "own tier. Tags of this run carry no measurement of such links."
    )


def open_items(dossier: Dossier) -> tuple[OpenItem, ...]:
    """Return the items that a person should still see to."""
    items: list[tuple[str, int | None]] = [
        (f"Failed check: {check.claim}: {check.detail}", check.index)
        for check in dossier.failures
    ]
    if dossier.state == "unfinished":
        items.append(
            ("The run is not finished: it has no claim and no model yet.", None)
        )
    if not dossier.witnessed:
        quorum = "No quorum of witnesses: keep a copy of the checkpoint elsewhere."
        items.append((quorum, None))
    if dossier.rounds and not dossier.of(PrivacyTest) and not dossier.stamp:
        items.append(("No attack on the model was run.", None))
    shown = certificate(dossier)
    if shown is not None and (missing := shown.missing(software=True)):
        rules = count(missing, "rule")
        lacking = f"No evidence yet for {rules} that software can show; see above."
        items.append((lacking, shown.entry))
    if shown is not None and (missing := shown.missing(software=False)):
        rules = count(missing, "rule")
        waiting = (
            f"No statement or document yet for {rules} that need people; see above."
        )
        items.append((waiting, shown.entry))
    receipts = ((each.index, each.entry.participation) for each in dossier.rounds)
    bare = [index for index, taken in receipts if taken.receipts == "none"]
    if bare:
        rounds = (
            f"In {len(bare)} of {len(dossier.rounds)} rounds the number of sites "
            "is the coordinator's word: no site signed a receipt."
        )
        items.append((rounds, bare[0]))
    return tuple(OpenItem(words, entry) for words, entry in items)
