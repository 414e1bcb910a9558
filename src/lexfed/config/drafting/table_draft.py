# SPDX-License-Identifier: Apache-2.0
"""The first configuration of a table: what options say, what is known, what is asked.

Options answer first, then what is public and known of the names, then the person, who
is asked one thing at a time; without a person defaults are taken and listed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lexfed.config.drafting.column_proposals import (
    ColumnProposal,
    is_number,
    person_keys,
    present_texts,
    proposed_columns,
    proposed_decision,
    proposed_target,
    protected_target,
)
from lexfed.config.drafting.first_draft import ColumnDraft, ConfigurationDraft
from lexfed.config.drafting.public_domains import parse_domain, written_domain
from lexfed.config.drafting.questions import Answers, Question
from lexfed.config.text.wording import did_you_mean, listed
from lexfed.data.reading.column_guesses import TableGuess
from lexfed.errors import ConfigError, Problem
from lexfed.law.articles import TaggedColumn, load_catalogues, with_articles
from lexfed.law.decisions import suggest_by_names
from lexfed.law.tagger.column_files import table_name
from lexfed.law.tagger.suggestions import TaggerSettings
from lexfed.tiers import Tier
from lexfed.visible_text import visible

ROWS_OF_A_CLASS = 20
"""Rows of every class from which on classes are shown to who holds the data."""
MOST_CLASSES = 20
ROWS_PER_PERSON = 2
"""A cap on rows of one person; they are averaged, so a larger one costs no epsilon, but
memory: everybody has as many places."""
LARGEST_DELTA = 1e-6
NONE = "none"


@dataclass(frozen=True)
class DraftRequest:
    """A person's statements about a first configuration, made beforehand."""

    table: Path
    source: str
    target: str | None = None
    classes: tuple[str, ...] = ()
    target_range: tuple[float, float] | None = None
    person: str | None = None
    sites: str | None = None
    site_names: tuple[str, ...] = ()
    units: int | None = None
    epsilon: float = 2.0


@dataclass(frozen=True)
class TableDraft:
    """A first configuration, and the proposals for its features.

    Attributes:
        person_keys: the columns that may say whom a row is about.
    """

    configuration: ConfigurationDraft
    proposals: tuple[ColumnProposal, ...]
    person_keys: tuple[str, ...] = ()


def draft_table(
    request: DraftRequest, table: TableGuess, answers: Answers
) -> TableDraft:
    """Return the first configuration of a table.

    Guarantees:
        Nothing is taken from the table but names, kinds, how it is written, and,
            without `units`, the digits of the number of people for delta; unless a
            person at a terminal takes its classes over.
    """
    names = tuple(guess.name for guess in table.columns)
    _check_names(request, names)
    target = request.target or answers.ask(
        Question(
            "Which column is to be predicted",
            "",
            f"the model learns it from the others; there are {listed(names)}",
            "--target COLUMN",
        ),
        _one_of(names),
    )
    tags = _tags(request, names)
    keys, source = _target_keys(request, table, target, answers)
    decision = protected_target(proposed_decision(tags[target])[0])
    taken = (target, request.sites)
    known = tuple(n for n in person_keys(table.columns, tags) if n not in taken)
    person = _person(request, table, known, target, answers)
    sites = _sites(request, table, (target, person), answers)
    units = request.units or _units(person, answers)
    keys_apart = {each for each in (person, sites.get("column")) if each is not None}
    found = proposed_columns(table, tags, keys_apart, target)
    asked = [_answered(each, answers) for each in found.columns]
    kept = tuple(each for each in asked if each is not None)
    dropped = {each.name for each in found.columns} - {each.name for each in kept}
    left_out = (*found.left_out, *((name, "left out by you") for name in dropped))
    drafts = {each.name: each.draft for each in kept}
    drafts[target] = ColumnDraft(target, keys, source, decision)
    people = units or _people(table, person)
    configuration = ConfigurationDraft(
        source=request.source,
        columns=tuple(drafts[name] for name in names if name in drafts),
        target=target,
        person=person,
        rows_per_person=ROWS_PER_PERSON,
        sites=sites,
        units=units,
        replace_one=units is None,
        epsilon=request.epsilon,
        delta=min(LARGEST_DELTA, 10.0 ** -(len(str(people)) + 1)),
        model="linear" if keys["kind"] == "number" else "logistic",
        format=table.keys,
        left_out=left_out,
    )
    return TableDraft(configuration, kept, known)


def _people(table: TableGuess, person: str | None) -> int:
    """Return the number of people, which replace-one makes public; rows are not."""
    return len(table.frame if person is None else {*present_texts(person, table.frame)})


def _check_names(request: DraftRequest, names: tuple[str, ...]) -> None:
    problems = []
    for option, name in (("--target", request.target), ("--person", request.person)):
        if name is not None and name not in names:
            what = f"`{option}`: the table has no column `{visible(name)[:60]}`"
            hint = did_you_mean(name, names[:200], "its columns are")
            problems.append(Problem(str(request.table), what, visible(hint)))
    if request.target is not None and request.target == request.person:
        what = "`--target` and `--person` name the same column"
        problems.append(Problem("", what, "name two different columns"))
    if problems:
        raise ConfigError(problems)


def _tags(request: DraftRequest, names: tuple[str, ...]) -> dict[str, TaggedColumn]:
    """Return the tagger's suggestions, by names alone."""
    title = table_name(request.table)
    found = suggest_by_names(names, title, TaggerSettings(), request.person)
    tagged = with_articles(tuple(found.values()), load_catalogues(["gdpr"]))
    return {each.suggestion.column.name: each for each in tagged}


def _target_keys(
    request: DraftRequest, table: TableGuess, target: str, answers: Answers
) -> tuple[Mapping[str, Any], str]:
    if request.classes:
        return {"kind": "category", "values": request.classes}, "stated"
    if request.target_range is not None:
        return {"kind": "number", "range": request.target_range}, "stated"
    guess = next(each for each in table.columns if each.name == target)
    known = proposed_target(guess, table.frame)
    if known is not None:
        return known
    shown = visible(target)[:60]
    if is_number(guess, table.frame):
        return answers.ask(
            Question(
                f"`{shown}`: lowest and highest value, as LOW..HIGH",
                "",
                "the range of what is predicted must be public knowledge: one taken "
                "from the table would tell of single rows",
                "--target-range LOW..HIGH",
            ),
            _range_keys,
        )
    counts = present_texts(target, table.frame)
    common = (
        len(counts) <= MOST_CLASSES
        and min(counts.values(), default=0) >= ROWS_OF_A_CLASS
    )
    if common and answers.of_person:
        answers.tell(f"in the table: {', '.join(map(visible, sorted(counts)))}")

    def read(answer: str) -> tuple[Mapping[str, Any], str]:
        if answer == "table" and common:
            return {"kind": "category", "values": tuple(sorted(counts))}, (
                "of the table, taken over as public by the person who wrote this"
            )
        classes = tuple(part.strip() for part in answer.split(",") if part.strip())
        if len(set(classes)) < 2:
            raise ValueError("expected two classes or more, divided by commas")
        return {"kind": "category", "values": classes}, "stated"

    offer = (
        "; `table` takes these, if anyone may know that they occur" if common else ""
    )
    return answers.ask(
        Question(
            f"`{shown}`: its classes, divided by commas{offer}",
            "",
            "which classes there are must be public knowledge: a rare one taken from "
            "the table would tell of those who have it",
            '--classes "A,B"',
        ),
        read,
    )


def _range_keys(answer: str) -> tuple[Mapping[str, Any], str]:
    domain = parse_domain(answer, "stated")
    if domain.range is None:
        raise ValueError("expected LOW..HIGH, for example 0..100")
    return domain.keys, domain.reason


def _person(
    request: DraftRequest,
    table: TableGuess,
    keys: tuple[str, ...],
    target: str,
    answers: Answers,
) -> str | None:
    if request.person is not None:
        return request.person
    names = tuple(guess.name for guess in table.columns)
    answer = answers.ask(
        Question(
            "Which column says whom a row is about",
            keys[0] if len(keys) == 1 else NONE,
            "the guarantee protects one person with all their rows; `none`: each row "
            "is a person of its own, which is wrong if somebody has two",
            "--person COLUMN",
        ),
        _one_of((NONE, *(name for name in names if name != target))),
    )
    return None if answer == NONE and NONE not in names else answer


def _sites(
    request: DraftRequest,
    table: TableGuess,
    taken: tuple[str | None, ...],
    answers: Answers,
) -> Mapping[str, Any]:
    names = tuple(guess.name for guess in table.columns)

    def read(answer: str) -> Mapping[str, Any]:
        # A number first: columns of some tables are called `1`, `2`, ...
        if answer.isascii() and answer.isdigit() and 1 <= int(answer) <= 10_000:
            return {"count": int(answer)}
        if answer in names and answer not in taken:
            return {"column": answer}
        raise ValueError(
            "expected a number of simulated sites, or another column of the table"
        )

    if request.sites is None:
        question = Question(
            "Sites: a column that names them, or a number of simulated ones",
            "1",
            "1: the whole table is at one organisation. With more, rows are spread at "
            "random, which shows how several would train together",
            "--sites COLUMN|N",
        )
        sites = answers.ask(question, read)
    else:
        try:
            sites = read(request.sites)
        except ValueError as error:
            what = f"`--sites`: {error}, got: `{visible(request.sites)[:60]}`"
            raise ConfigError([Problem("", what, "for example `--sites 4`")]) from error
    if "column" not in sites:
        return sites
    return {**sites, "names": request.site_names or _site_names(sites, answers)}


def _site_names(sites: Mapping[str, Any], answers: Answers) -> tuple[str, ...]:
    shown = visible(sites["column"])[:60]
    question = Question(
        f"All sites that `{shown}` may name, divided by commas",
        "",
        "which sites there are is not read from the table, since one row could tell "
        "that there is one more; rows of others are left out",
        '--site-names "NORTH,SOUTH"',
    )
    return answers.ask(question, _listed)


def _listed(answer: str) -> tuple[str, ...]:
    names = tuple(part.strip() for part in answer.split(",") if part.strip())
    if not names or len(set(names)) < len(names):
        raise ValueError("expected different names, divided by commas")
    return names


def _units(person: str | None, answers: Answers) -> int | None:
    what = "rows" if person is None else "people"

    def read(answer: str) -> int | None:
        if answer == NONE:
            return None
        if not (answer.isascii() and answer.isdigit()) or not 0 < int(answer) < 2**53:
            raise ValueError("expected a whole number, or `none`")
        return int(answer)

    question = Question(
        f"About how many {what} there are, if their number is a secret",
        NONE,
        "`none`: their number is public, and the guarantee compares a person with "
        "another one in their place (replace-one). With a number, which must come from "
        "elsewhere, it also hides whether a person is in the table (add-remove)",
        "--units N",
    )
    return answers.ask(question, read)


def _answered(each: ColumnProposal, answers: Answers) -> ColumnProposal | None:
    """Return a proposal as a person corrects it; None for a column that they drop."""
    if each.widened:
        keys = each.draft.keys
        default = written_domain(keys)
        question = Question(
            f"`{visible(each.name)[:60]}` ({keys['kind']}): what it may hold",
            default,
            f"{each.draft.source}. Type LOW..HIGH for a range, `= a; b; c` for a list, "
            "`~ 8` for buckets, `open` to learn it with `lexfed profile`, which is "
            "charged, or `-` to leave the column out. It must be public knowledge",
        )
        stated = answers.ask(question, _domain_reader(default, each))
        if stated is None:
            return None
        each = stated
    if each.review and answers.of_person and each.draft.decision is not None:
        tiers = tuple(tier.label for tier in Tier)
        decision = each.draft.decision
        question = Question(
            f"`{visible(each.name)[:60]}`: {', '.join(tiers)}",
            decision.tier,
            decision.reason,
        )
        tier = answers.ask(question, _one_of(tiers))
        if tier == Tier.IDENTIFIER.label:
            return None
        if answers.of_person:
            category = decision.category if tier == decision.tier else "stated"
            decided = replace(decision, tier=tier, category=category, by="person")
            draft = replace(each.draft, decision=decided)
            return replace(each, draft=draft, review=False)
    return each


def _domain_reader(
    default: str, each: ColumnProposal
) -> Callable[[str], ColumnProposal | None]:
    def read(answer: str) -> ColumnProposal | None:
        if answer == default:
            return each
        if answer == "-":
            return None
        kind = each.draft.keys["kind"]
        keys: Mapping[str, Any]
        if answer == "open":
            key = "range" if kind == "number" else "values"
            keys = {"kind": kind, key: "?"}
            source = "open: `lexfed profile` learns it, at a price"
        else:
            domain = parse_domain(answer, "stated")
            keys, source = domain.keys, domain.reason
        draft = replace(each.draft, keys=keys, source=source)
        return replace(each, draft=draft, widened=False)

    return read


def _one_of(names: tuple[str, ...]) -> Callable[[str], str]:
    def read(answer: str) -> str:
        if answer not in names:
            raise ValueError(did_you_mean(answer, names[:50], "expected one of"))
        return answer

    return read
