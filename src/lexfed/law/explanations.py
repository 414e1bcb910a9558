# SPDX-License-Identifier: Apache-2.0
r"""Suggestions in sentences, and the origin of a decision as far as software can tell.

A data-protection officer must be able to disagree with every line. Sentences name
rules and evidence, never a value. The origin is kept beside the tags and, with them, in
the log: the proposal before a person decided, the evidence for it, and the digests of
the files by which it can be computed again.

    asked      {"catalogues": [{"jurisdiction", "digest"}, ...],
                "tagger": {"lexicon", "packs", "model": digests}}
    proposal   {"tier", "category", "by", "reason", "review", "evidence": [...]}

    digest of a part  =  SHA-256 of lines `<file name> <SHA-256 of the file>\n`, sorted

Proposals are made from names alone: evidence that rests on values never leaves the
machine that holds them.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from textwrap import wrap
from typing import Any, Literal

from lexfed.data.strict_fields import fields, items, mapping, text, truth
from lexfed.errors import ConfigError, Problem
from lexfed.law.articles import TaggedColumn
from lexfed.law.catalogue import Article, LawCatalogue
from lexfed.law.tagger.suggestions import KINDS, Suggestion, TagEvidence
from lexfed.tiers import Tier

KIND_WORDS = {
    **{kind: kind for kind in KINDS}, "pack": "standard", "semantics": "meaning"
}  # fmt: skip
"""The source of evidence, in one word."""

PUBLIC_KINDS = ("name", "description", "pack", "semantics", "table")
"""Evidence that rests on the schema alone; no sentence that leaves the site that holds
the values may repeat the rest.
"""

NOTHING_KNOWN = "nothing is known about it, so it is protected like most of its table"
_WIDTH = 88
_PLAIN = ("name", "description")
_ENOUGH = 2.0
"""Weight from which on a reason stands by itself."""


def reason_of(suggestion: Suggestion, kinds: Sequence[str] = KINDS) -> str:
    """Return the strongest reason for a suggestion, of these kinds, in one sentence."""
    strongest = _strongest(suggestion, kinds)
    return NOTHING_KNOWN if strongest is None else strongest.text


def _strongest(suggestion: Suggestion, kinds: Sequence[str]) -> TagEvidence | None:
    """Return the best reason for the category, or else for the tier.

    A name that speaks for itself convinces people more than how often it was seen.
    """
    positive = [
        item for item in suggestion.evidence if item.kind in kinds and item.weight > 0
    ]
    same = [item for item in positive if item.category == suggestion.category]
    best = same or [item for item in positive if item.tier == suggestion.tier]
    plain = [item for item in best if item.kind in _PLAIN and item.weight >= _ENOUGH]
    return max(plain or best, key=lambda item: item.weight, default=None)


def rule_of(tagged: TaggedColumn) -> Article | None:
    """Return the article that fits a column best: the last of the first law.

    Catalogues begin with what applies to all personal data and go on to what applies
    to few; the more special rule tells more.
    """
    if not tagged.articles:
        return None
    first = tagged.articles[0].jurisdiction
    return [a for a in tagged.articles if a.jurisdiction == first][-1]


def decision_of(tagged: TaggedColumn) -> str:
    """Return the reason to write beside an accepted suggestion.

    Guarantees:
        It names the rule and the evidence.
        It tells nothing that was counted or recognised in values, but that they were.
    """
    suggestion = tagged.suggestion
    rule = rule_of(tagged)
    law = f"`{rule.id}` ({rule.reference})" if rule else "no rule of the laws asked"
    public = _strongest(suggestion, PUBLIC_KINDS)
    if public is not None:
        why = public.text
    elif _strongest(suggestion, KINDS) is not None:
        why = "recognised by its values, on the machine that holds them"
    else:
        why = NOTHING_KNOWN
    return f"{suggestion.category} by {law}: {why}"


def explain(tagged: TaggedColumn, catalogues: Sequence[LawCatalogue]) -> str:
    """Return the whole chain from evidence to articles, for people."""
    suggestion = tagged.suggestion
    lines = [
        f"{full_name(suggestion)}: {suggestion.tier}, {suggestion.category}",
        f"  score {suggestion.score:.2f} of 1 (expected sensitivity), names read as "
        f"`{suggestion.language}`",
    ]
    if suggestion.review:
        lines += _wrapped(
            "REVIEW: the evidence is weak or in conflict. A person must decide; until "
            "then it is protected at least as strongly as most of its table.", "  "
        )  # fmt: skip
    lines += ["", "evidence, the strongest first (weights are log-odds)"]
    for item in suggestion.evidence:
        about = f"{KIND_WORDS[item.kind]}, for {item.category or item.tier or 'none'}"
        lines += _wrapped(f"{item.weight:+.1f}  {about}: {item.text}", "  ", "        ")
    if not suggestion.evidence:
        lines.append(f"  {NOTHING_KNOWN}")
    for proxy in suggestion.proxies:
        lines += _wrapped(f"proxy risk: {proxy.words}", "  ", "        ")
    for catalogue in catalogues:
        lines += ["", *_wrapped(catalogue.title, "")]
        own = {rule.article.id for rule in catalogue.rules}
        articles = [a for a in tagged.articles if a.id in own]
        for article in articles:
            lines.append(f"  {article.reference}  [{article.id}]")
            lines += _wrapped(article.obligation, "    ")
        if not articles:
            lines.append("  no rule of this law speaks of such a column")
    return "\n".join(lines)


def full_name(suggestion: Suggestion) -> str:
    """Return table and name of a column, as one writes it with a dot."""
    column = suggestion.column
    return f"{column.table}.{column.name}" if column.table else column.name


def _wrapped(text: str, indent: str, hanging: str | None = None) -> list[str]:
    hanging = indent if hanging is None else hanging
    return wrap(
        text, _WIDTH, initial_indent=indent, subsequent_indent=hanging,
        break_on_hyphens=False,
    )  # fmt: skip


_MOST_EVIDENCE = 5
"""Items kept with a proposal, the strongest first."""

Proposer = Literal["rule", "generator"]


@dataclass(frozen=True)
class Ground:
    """One reason for a proposal; fields are as in `TagEvidence`.

    The category is empty if the reason speaks for none in particular, and the weight is
    text, so that every reader writes it alike.
    """

    kind: str
    category: str
    weight: str
    text: str

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Ground":
        """Return the reason of plain data; an unknown field is an error."""
        known = {"kind": text, "category": text, "weight": text, "text": text}
        return cls(**fields(plain, known, tuple(known), "evidence"))


@dataclass(frozen=True)
class Proposal:
    """The tier and category proposed for a column before a person decided.

    It is `by` a `rule` of the tagger, or the `generator` of a source that knows its
    columns; `review` tells that the tagger asked for a person.
    """

    tier: Tier
    category: str
    by: Proposer
    reason: str
    review: bool = False
    evidence: tuple[Ground, ...] = ()

    def __post_init__(self) -> None:
        if self.by not in ("rule", "generator"):
            raise ConfigError([Problem("proposal", f"unknown author `{self.by}`")])

    @classmethod
    def of(cls, suggestion: Suggestion) -> "Proposal":
        """Return the proposal that a suggestion of the tagger makes.

        Guarantees:
            Evidence from values and statistics is left out.
        """
        public = [item for item in suggestion.evidence if item.kind in PUBLIC_KINDS]
        grounds = tuple(
            Ground(item.kind, item.category or "", f"{item.weight:.2f}", item.text)
            for item in public[:_MOST_EVIDENCE]
        )
        reason = reason_of(suggestion, PUBLIC_KINDS)
        tier = Tier.parse(suggestion.tier)
        return cls(
            tier, suggestion.category, "rule", reason, suggestion.review, grounds
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the proposal as plain data."""
        evidence = [asdict(ground) for ground in self.evidence]
        return {**asdict(self), "tier": self.tier.label, "evidence": evidence}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Proposal":
        """Return the proposal of plain data; an unknown field is an error."""
        known = {
            "tier": Tier.parse, "category": text, "by": text, "reason": text,
            "review": truth, "evidence": items,
        }  # fmt: skip
        given = fields(plain, known, tuple(known), "proposal")
        listed = given.pop("evidence")
        return cls(evidence=tuple(map(Ground.from_dict, listed)), **given)


@dataclass(frozen=True)
class Consultation:
    """The catalogues and the tagger that were asked, by digest; false if none was.

    Catalogues stand with their jurisdictions, the tagger with the digests of its parts.
    """

    catalogues: tuple[tuple[str, str], ...] = ()
    tagger: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.catalogues or self.tagger)

    @classmethod
    def of(cls, catalogues: Sequence[LawCatalogue], tagger: bool) -> "Consultation":
        """Return the consultation of these, with the digests of their files."""
        named = tuple((each.jurisdiction, each.digest) for each in catalogues)
        return cls(named, dict(fingerprint()) if tagger else {})

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        laws = [{"jurisdiction": name, "digest": d} for name, d in self.catalogues]
        return {"catalogues": laws, "tagger": dict(self.tagger)}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "Consultation":
        """Return it from plain data; an unknown field is an error."""
        known = {"catalogues": items, "tagger": mapping}
        given = fields(plain, known, tuple(known), "asked")
        of_law = {"jurisdiction": text, "digest": text}
        laws = [
            fields(each, of_law, tuple(of_law), "catalogue")
            for each in given["catalogues"]
        ]
        digests = dict.fromkeys(given["tagger"], text)
        tagger = fields(given["tagger"], digests, (), "tagger")
        return cls(tuple((law["jurisdiction"], law["digest"]) for law in laws), tagger)


PARTS = ("lexicon", "packs", "model")
"""The lexicon, the packs of known standards, and all other data of the tagger."""


@cache
def fingerprint() -> Mapping[str, str]:
    """Return the digest of every part of the tagger's data, which suggestions rest on.

    Guarantees:
        A changed byte, and a file more or less, changes the digest of its part.
    """
    lines: dict[str, list[str]] = {part: [] for part in PARTS}
    for name, file in _data_files(files("lexfed.law.tagger"), ""):
        folder = name.partition("/")[0]
        part = folder if folder in PARTS else "model"
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        lines[part].append(f"{name} {digest}\n")
    return {
        part: hashlib.sha256("".join(sorted(listed)).encode()).hexdigest()
        for part, listed in lines.items()
    }


def _data_files(folder: Traversable, above: str) -> Iterator[tuple[str, Traversable]]:
    for entry in folder.iterdir():
        name = f"{above}{entry.name}"
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _data_files(entry, f"{name}/")
        elif entry.is_file() and not entry.name.endswith((".py", ".pyc")):
            yield name, entry
