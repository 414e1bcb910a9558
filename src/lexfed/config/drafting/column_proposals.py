# SPDX-License-Identifier: Apache-2.0
"""Proposals for the columns of a table: kind, public domain, tier, each with a reason.

    kind     from the table, as `guess_table` finds it
    domain   from the catalogue of public domains, or a wide default
    tier     from the tagger, by names alone; the cautious one where it is not sure

Guarantees:
    Nothing of a proposal is taken from values but the kind, and with it the coding:
        which of the catalogue's lists a majority of the values is written in. Of the
        target it is the list that holds all classes. Ranges and lists are public
        whatever the table holds.
    A column is proposed, or left out with a reason; none vanishes.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lexfed.config.drafting.domain_catalogue import load_domains, name_words
from lexfed.config.drafting.first_draft import ColumnDraft
from lexfed.config.drafting.public_domains import plain_code
from lexfed.config.edits import ColumnDecision
from lexfed.data.reading.column_guesses import ColumnGuess, TableGuess
from lexfed.data.reading.frames import Frame
from lexfed.data.schema import DeclaredKind
from lexfed.data.written_values import written_number
from lexfed.law.articles import TaggedColumn
from lexfed.law.explanations import PUBLIC_KINDS, decision_of, reason_of
from lexfed.tiers import Tier
from lexfed.visible_text import visible

WIDE_RANGE = (-1000.0, 1000.0)
FEW_BUCKETS = 8
USUAL_PERIOD = ("2000-01-01", "2035-12-31")
NO_PERIOD = "no period is known for this name: a usual one; other days are cut"
NO_RANGE = "no range is known for this name: a wide one; larger numbers are cut"
NO_LIST = "no list is known for this name: values in public buckets"
FREE_TEXT = "free text or a key: never a model input"
NEVER_SURE = "until a person decides, the cautious tier"
SAME_OUTCOME = "by its name it says what is to be predicted"
KEY = "person_key"
_LONGEST_REASON = 1000
_OF_EVENTS = (
    "encounter", "visit", "stay", "admission", "hadm", "episode", "loan", "credit",
    "order", "transaction", "invoice", "claim", "booking", "reservation", "session",
    "trip", "case", "sample", "record", "ticket", "scan", "specimen", "event", "item",
    "message", "application", "contract", "accident", "incident", "purchase",
    "payment", "procedure", "image", "product", "quote", "lead",
)  # fmt: skip
"""Words of keys that count what happens to people, of which one may have several."""


@dataclass(frozen=True)
class ColumnProposal:
    """A draft of a column, and what is not sure about it.

    Attributes:
        widened: nothing is known of its domain, so the draft has a default.
        review: the tagger asks for a person, so the draft has the cautious tier.
    """

    draft: ColumnDraft
    widened: bool = False
    review: bool = False

    @property
    def name(self) -> str:
        """The name of the column."""
        return self.draft.name


@dataclass(frozen=True)
class TableProposal:
    """Proposals for all columns but the keys and the target, in their order."""

    columns: tuple[ColumnProposal, ...]
    left_out: tuple[tuple[str, str], ...]


def proposed_columns(
    table: TableGuess,
    tags: Mapping[str, TaggedColumn],
    keys: Collection[str],
    target: str,
) -> TableProposal:
    """Return proposals for the columns of a table, but for the target and the keys."""
    catalogue = load_domains()
    columns: list[ColumnProposal] = []
    left_out: list[tuple[str, str]] = []
    for guess in table.columns:
        if guess.name == target or guess.name in keys:
            continue
        if (why := catalogue.aside(guess.name)) != "":
            left_out.append((guess.name, why))
            continue
        if catalogue.same_outcome(guess.name, target):
            left_out.append((guess.name, SAME_OUTCOME))
            continue
        decision, review = proposed_decision(tags[guess.name])
        if decision.category == KEY and catalogue.holds(guess.name, guess.kind):
            decision, review = _measured(tags[guess.name]), True
        if decision.tier == Tier.IDENTIFIER.label:
            left_out.append((guess.name, _identifier_words(tags[guess.name])))
            continue
        found = proposed_domain(guess, table.frame)
        if found is None:
            left_out.append((guess.name, FREE_TEXT))
        else:
            declared, source, widened = found
            draft = ColumnDraft(guess.name, declared, source, decision)
            columns.append(ColumnProposal(draft, widened, review))
    return TableProposal(tuple(columns), tuple(left_out))


def _measured(tagged: TaggedColumn) -> ColumnDecision:
    """Return the decision about a name that is listed as a measure and as a key.

    It is `special` if anything speaks for that, else `personal`.
    """
    found = tagged.suggestion.evidence
    special = [each for each in found if each.tier == Tier.SPECIAL.label]
    reason = f"{NEVER_SURE}: the name may be that of a measure, or of a person's key"
    if not special:
        return ColumnDecision(Tier.PERSONAL.label, "other_personal", reason, "rule")
    category = max(special, key=lambda each: each.weight).category or "health"
    return ColumnDecision(Tier.SPECIAL.label, category, reason, "rule")


def _identifier_words(tagged: TaggedColumn) -> str:
    return f"an identifier: {visible(reason_of(tagged.suggestion, PUBLIC_KINDS))}"


def proposed_domain(
    guess: ColumnGuess, frame: Frame
) -> tuple[Mapping[str, Any], str, bool] | None:
    """Return keys of `[data.columns]`, their source, and whether they are a default.

    Text that the catalogue does not know is no model input, which None stands for.
    """
    if guess.kind == "flag":
        return {"kind": "flag"}, "", False
    known = _known_domain(guess.name, guess.kind, frame)
    if known is not None:
        return *known, False
    if guess.kind == "number":
        keys = {"kind": "number", "range": WIDE_RANGE, "scale": "symlog"}
        return keys, NO_RANGE, True
    if guess.kind == "date":
        return {"kind": "date", "period": USUAL_PERIOD}, NO_PERIOD, True
    if guess.kind == "category":
        return {"kind": "category", "buckets": FEW_BUCKETS}, NO_LIST, True
    return None


def _known_domain(
    name: str, kind: DeclaredKind, frame: Frame
) -> tuple[Mapping[str, Any], str] | None:
    """Return the keys of a column by the catalogue, and the reason that it gives."""
    catalogue = load_domains()
    if kind == "text":
        # What repeats little may still be listed, and whole numbers that all differ
        # may be amounts.
        numeric = _are_numbers(name, frame)
        domain = catalogue.domain(name, "number" if numeric else "category")
        if domain is None or (numeric and domain.range is None):
            return None
    else:
        domain = catalogue.domain(name, kind)
    if domain is not None and not domain.codings:
        return domain.keys, domain.reason
    named = () if domain is None else (domain,)
    answers = catalogue.answers if kind == "category" else ()
    texts = present_texts(name, frame) if named or answers else Counter()
    for each in (*named, *answers):
        coding = each.coding_of(texts)
        if coding is not None:
            return {"kind": "category", "values": coding}, each.reason
    if domain is None or kind == "text":
        return None
    return {"kind": "category", "buckets": FEW_BUCKETS}, domain.reason


def proposed_target(
    guess: ColumnGuess, frame: Frame
) -> tuple[Mapping[str, Any], str] | None:
    """Return keys of `[data.columns]` for the target, and their source.

    None if neither a range of numbers nor a list that holds all classes is known.
    """
    if guess.kind == "flag":
        return {"kind": "flag"}, ""
    if guess.kind == "date":
        return None
    catalogue = load_domains()
    kind = "number" if is_number(guess, frame) else "category"
    domain = catalogue.domain(guess.name, kind)
    if domain is not None and domain.range is not None:
        return domain.keys, domain.reason
    lists = (domain,) if domain is not None and domain.codings else ()
    present = {plain_code(text) for text in present_texts(guess.name, frame)}
    for among in (lists, catalogue.classes):
        holding = [
            (coding, each.reason)
            for each in among
            for coding in each.codings
            if present <= {plain_code(value) for value in coding}
        ]
        if holding:
            values, reason = min(holding, key=lambda held: len(held[0]))
            return {"kind": "category", "values": values}, reason
    return None


def is_number(guess: ColumnGuess, frame: Frame) -> bool:
    """Return True for numbers, also if they are whole and all differ, as keys do."""
    listed = guess.kind == "text" and bool(present_texts(guess.name, frame))
    return guess.kind == "number" or (listed and _are_numbers(guess.name, frame))


def proposed_decision(tagged: TaggedColumn) -> tuple[ColumnDecision, bool]:
    """Return the decision about a column, by a rule, and whether a person must look.

    Where a person must, it is the tagger's tier, and at least `personal`.
    """
    found = tagged.suggestion
    reason = visible(decision_of(tagged))
    tier, category = found.tier, found.category
    if found.review:
        reason = f"{NEVER_SURE}: {reason}"
        if tier == Tier.NON_PERSONAL.label:
            tier, category = Tier.PERSONAL.label, "other_personal"
    decision = ColumnDecision(tier, category, reason[:_LONGEST_REASON], "rule")
    return decision, found.review


def protected_target(decision: ColumnDecision) -> ColumnDecision:
    """Return the decision about a target, which cannot be an identifier."""
    if decision.tier != Tier.IDENTIFIER.label:
        return decision
    tier, category = Tier.PERSONAL.label, "other_personal"
    reason = f"it is to be predicted, so it is no identifier; {decision.reason}"
    return replace(decision, tier=tier, category=category, reason=reason)


def present_texts(name: str, frame: Frame) -> Counter[str]:
    """Return how often a column has each value, as a text; missing ones not at all."""
    raw = frame.columns[name]
    counts: Counter[str] = Counter()
    for value, times in Counter(raw.values[~raw.missing].tolist()).items():
        text = str(value)
        if not frame.written.is_missing(text):
            counts[text] += times
    return counts


def _are_numbers(name: str, frame: Frame) -> bool:
    texts, written = present_texts(name, frame), frame.written
    return all(written_number(text, written) is not None for text in texts)


def person_keys(
    columns: Sequence[ColumnGuess], tags: Mapping[str, TaggedColumn]
) -> tuple[str, ...]:
    """Return the columns that the tagger surely takes for keys of a person.

    A key of what happens to people, such as a visit or a loan, is none.
    """
    fillers = load_domains().fillers
    return tuple(
        guess.name
        for guess in columns
        if tags[guess.name].suggestion.category == KEY
        and not tags[guess.name].suggestion.review
        and not fillers.issuperset(name_words(guess.name))
        and not any(word in "".join(name_words(guess.name)) for word in _OF_EVENTS)
    )
