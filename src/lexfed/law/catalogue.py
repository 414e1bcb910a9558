# SPDX-License-Identifier: Apache-2.0
"""Catalogues: a law's rules about kinds of columns, as a data file anyone can add.

    version = 1
    jurisdiction = "gdpr"
    title = "General Data Protection Regulation"

    [[rule]]
    id = "gdpr.art9.health"
    reference = "GDPR Art. 9(1), 4(15)"
    categories = ["health"]          # and/or tiers = [...]
    words = ["blood"]                # only if name or description has one of them
    otherwise = true                 # only if no other rule of the category applied
    obligation = "..."               # in plain words of our own

Laws differ: political opinions are in Art. 9 GDPR and not in the CCPA's list, precise
positions the other way round.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from lexfed.errors import ConfigError, Problem, system_reason
from lexfed.law.tagger.suggestions import CATEGORIES, TIERS
from lexfed.plain_files import plain_or_link
from lexfed.toml_text import parse_toml
from lexfed.visible_text import hidden_texts, visible

BUILT_IN = ("gdpr", "hipaa", "ccpa")
_MAX_BYTES = 1 << 20
_NEEDED = ("id", "reference", "obligation")
_LISTS = ("categories", "tiers", "words")
_KEYS = (*_NEEDED, *_LISTS, "otherwise")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")


@dataclass(frozen=True)
class Article:
    """A rule that applies to a column, such as `gdpr.art9.health`.

    `reference` is its place in the law, such as `GDPR Art. 9(1)`, `obligation` its
    demand in plain words.
    """

    id: str
    jurisdiction: str
    reference: str
    obligation: str


@dataclass(frozen=True)
class LawRule:
    """The condition under which an article applies."""

    article: Article
    categories: frozenset[str]
    tiers: frozenset[str]
    words: tuple[str, ...]
    otherwise: bool

    def concerns(self, tier: str, category: str) -> bool:
        """Return True if the rule is about columns of this kind at all."""
        return category in self.categories or tier in self.tiers


@dataclass(frozen=True)
class LawCatalogue:
    """The rules of one jurisdiction, and the digest of the file they come from."""

    jurisdiction: str
    title: str
    rules: tuple[LawRule, ...]
    digest: str

    def articles(
        self, tier: str, category: str, words: Collection[str]
    ) -> tuple[Article, ...]:
        """Return the articles that apply to a column.

        `words` are English words of its name and description, phrases included.

        Guarantees:
            A rule with words applies only if the column has one of them.
            An `otherwise` rule applies only if no rule with words did.
        """
        about = [rule for rule in self.rules if rule.concerns(tier, category)]
        worded = [rule for rule in about if rule.words]
        hits = [rule for rule in worded if not set(rule.words).isdisjoint(words)]
        specific = any(category in rule.categories for rule in hits)
        return tuple(
            rule.article
            for rule in about
            if rule in hits or (not rule.words and (not rule.otherwise or not specific))
        )


def load_catalogue(name: str | Path) -> LawCatalogue:
    """Read a built-in catalogue by its name, or a file.

    `ConfigError` has every problem of the file.
    """
    if isinstance(name, str) and name in BUILT_IN:
        return _built_in(name)
    path = Path(name)
    try:
        with open(path, "rb", opener=plain_or_link) as file:
            content = file.read(_MAX_BYTES + 1)
    except OSError as error:
        reason = system_reason(error)
        raise ConfigError([Problem(str(path), f"cannot be read: {reason}")]) from error
    return parse_catalogue(content, str(path))


@cache
def _built_in(name: str) -> LawCatalogue:
    """Return a catalogue that comes with the package; it is read once."""
    content = files("lexfed.law").joinpath(f"catalogues/{name}.toml").read_bytes()
    return parse_catalogue(content, f"{name}.toml")


def parse_catalogue(content: bytes, where: str) -> LawCatalogue:
    """Return the catalogue of a file's bytes.

    `ConfigError` has every problem: an unknown key, a rule without a reference, an
    unknown category or tier, a repeated id.
    """
    if len(content) > _MAX_BYTES:
        raise ConfigError([Problem(where, f"more than {_MAX_BYTES} bytes")])
    try:
        plain = parse_toml(content.decode())
    except RecursionError as error:
        raise ConfigError([Problem(where, "not TOML: nested too deeply")]) from error
    except ValueError as error:  # of the encoding, the grammar, a number too long
        raise ConfigError([Problem(where, f"not TOML: {error}")]) from error
    problems = list(_head_problems(plain, where))
    rows = plain.get("rule", [])
    rules = rows if isinstance(rows, list) else []
    seen: set[str] = set()
    for number, row in enumerate(rules, start=1):
        problems += _rule_problems(row, f"{where}: rule {number}", seen)
    if problems:
        raise ConfigError(problems)
    name, digest = plain["jurisdiction"], hashlib.sha256(content).hexdigest()
    parsed = tuple(
        LawRule(
            article=Article(row["id"], name, row["reference"], row["obligation"]),
            categories=frozenset(row.get("categories", ())),
            tiers=frozenset(row.get("tiers", ())),
            words=tuple(word.casefold() for word in row.get("words", ())),
            otherwise=row.get("otherwise", False),
        )
        for row in rules
    )
    return LawCatalogue(name, plain["title"], parsed, digest)


def _head_problems(plain: Mapping[str, Any], where: str) -> Iterable[Problem]:
    for place, character in hidden_texts(plain):
        key = visible(".".join(map(str, place)))
        yield Problem(
            where, f"`{key}`: expected visible characters, found `{character}`"
        )
    if plain.get("version") != 1:
        yield Problem(where, f"expected `version = 1`, got: {plain.get('version')!r}")
    for key in ("jurisdiction", "title"):
        if not isinstance(plain.get(key), str) or not plain[key].strip():
            yield Problem(where, f"`{key}` is missing or not text")
    name = plain.get("jurisdiction")
    if isinstance(name, str) and name.strip() and not _NAME.fullmatch(name):
        hint = "use up to 40 small letters, digits, `.`, `_` and `-`"
        yield Problem(where, f"`jurisdiction` cannot be a name: {name[:60]!r}", hint)
    for key in sorted(plain.keys() - {"version", "jurisdiction", "title", "rule"}):
        yield Problem(where, f"unknown key `{key}`")
    rows = plain.get("rule")
    if not isinstance(rows, list) or not rows:
        yield Problem(where, "it has no rules", "write them as `[[rule]]` tables")


def _rule_problems(row: Any, where: str, seen: set[str]) -> Iterable[Problem]:
    if not isinstance(row, dict):
        yield Problem(where, "not a table")
        return
    for key in sorted(row.keys() - set(_KEYS)):
        yield Problem(where, f"unknown key `{key}`", f"a rule has {', '.join(_KEYS)}")
    for key in _NEEDED:
        if not isinstance(row.get(key), str) or not row[key].strip():
            yield Problem(where, f"`{key}` is missing or not text")
    for key in _LISTS:
        value = row.get(key, [])
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            yield Problem(where, f"`{key}` is not a list of texts")
            return
    if not isinstance(row.get("otherwise", False), bool):
        yield Problem(where, "`otherwise` is not true or false")
    if not row.get("categories") and not row.get("tiers"):
        yield Problem(where, "names neither `categories` nor `tiers`")
    if row.get("otherwise") and row.get("words"):
        yield Problem(where, "`words` and `otherwise` exclude each other")
    for key, known in (("categories", CATEGORIES), ("tiers", TIERS)):
        for value in row.get(key, []):
            if value not in known:
                hint = f"known are {', '.join(known)}"
                yield Problem(where, f"`{key}` has the unknown `{value}`", hint)
    if row.get("id") in seen:
        yield Problem(where, f"`{row['id']}` is there twice")
    seen.add(str(row.get("id")))
