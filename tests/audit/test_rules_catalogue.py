# SPDX-License-Identifier: Apache-2.0
"""The catalogue: complete, within its ceilings, and readable by whoever wants it."""

import re
from hashlib import sha256
from pathlib import Path
from typing import get_args

import pytest

from lexfed.audit.entries import KINDS
from lexfed.audit.entries.lifecycle import RuleOutcome
from lexfed.audit.rules import (
    AT_CEILING,
    CANNOT,
    SCORE_MEANS,
    Rule,
    catalogue,
    catalogue_bytes,
    parse_catalogue,
)
from lexfed.audit.rules.checks import CHECKS
from lexfed.audit.rules.evaluation import CONDITIONS
from lexfed.audit.vocabulary import DOCUMENTS, LATER_DOCUMENTS
from lexfed.config.tables.root import Config
from lexfed.config.text.wording import schema_node
from lexfed.errors import AuditError

RULES = catalogue().rules
SCHEMA = Config.model_json_schema()
COUNTS = {"full": 16, "partial": 32, "presence": 26, "none": 3, "not-applicable": 1}
CONCLUSIONS = r"\b(complian|lawful processing|is legal|guaranteed)"
SMALL = b"""
version = 1
[[rule]]
id = "x.1"
law = "gdpr"
reference = "r"
obligation = "o"
evidence = "e"
looks_for = "l"
ceiling = "full"
check = "intact"
supply = "s"
"""


def test_ceilings_are_those_of_the_sources() -> None:
    found = [rule.ceiling for rule in RULES]
    assert {ceiling: found.count(ceiling) for ceiling in found} == COUNTS
    assert len(RULES) == 78
    assert len({rule.id for rule in RULES}) == 78


def test_laws_that_were_asked_for_are_there() -> None:
    articles = {rule.id.split(".")[1] for rule in RULES if rule.law == "gdpr"}
    assert {"5", "9", "10", "24", "25", "30", "32", "35"} <= articles
    assert {rule.law for rule in RULES} == {
        "gdpr", "edpb", "cnil", "ico", "hipaa", "ccpa", "aiact", "nist", "iso",
    }  # fmt: skip
    assert {"aiact.10.2", "aiact.12.1"} <= {rule.id for rule in RULES}


def test_every_name_is_known() -> None:
    for rule in RULES:
        assert rule.check in CHECKS, rule.id
        assert set(rule.applies) <= set(CONDITIONS), rule.id
        for wanted in rule.parameters.get("documents", ()):
            names = [wanted] if isinstance(wanted, str) else wanted
            assert set(names) <= set(DOCUMENTS), rule.id
    assert {rule.check for rule in RULES} == set(CHECKS)
    assert {name for rule in RULES for name in rule.applies} == set(CONDITIONS)


def test_every_document_is_asked_for_by_a_rule() -> None:
    text = catalogue_bytes().decode()
    for name in (*DOCUMENTS, *LATER_DOCUMENTS):
        # The eight sections of a data sheet are named by what they begin with.
        assert f'"{name}"' in text or f"`{name}`" in text, name


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_hints_name_keys_that_exist(rule: Rule) -> None:
    supply = rule.supply
    for key in re.findall(r"`\[?(audit[A-Za-z0-9_.-]*)\]?`", supply):
        *above, last = key.split(".")
        if above == ["audit", "documents"]:
            assert last in DOCUMENTS
            continue
        node = schema_node(SCHEMA, tuple(above))
        known = {*node.get("properties", {})}
        if isinstance(node.get("additionalProperties"), dict):
            known.add("NAME")
        assert last in known, key
    for kind in re.findall(r"`([a-z-]+)` entr", supply):
        assert kind in KINDS


def test_rules_of_a_law_apply_only_where_it_does() -> None:
    for rule in RULES:
        if rule.law in ("gdpr", "hipaa", "ccpa"):
            assert rule.applies[0] == rule.law
        if rule.law == "aiact":
            assert rule.applies[0] == "high-risk"


def test_words_claim_nothing() -> None:
    for rule in RULES:
        words = f"{rule.obligation} {rule.looks_for} {rule.scope}"
        assert not re.search(CONCLUSIONS, words, re.IGNORECASE), rule.id
        assert rule.obligation.endswith(".")
        assert rule.ceiling != "full" or rule.scope, rule.id


def test_digest_is_that_of_the_bytes() -> None:
    assert catalogue().digest == sha256(catalogue_bytes()).hexdigest()
    assert catalogue().rule("gdpr.9").reference == "GDPR Art. 9(1)-(2)"
    with pytest.raises(AuditError, match=r"no rule `gdpr\.99`"):
        catalogue().rule("gdpr.99")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"version = 1", b"version = 2", "`version`"),
        (b'ceiling = "full"', b'ceiling = "fully"', "`rule.0.ceiling`"),
        (b'supply = "s"', b'supply = "s"\ncolour = "red"', "`rule.0.colour`"),
        (b'supply = "s"', b"", "`rule.0.supply`: field required"),
        (b'id = "x.1"', b'id = "a sentence"', "`rule.0.id`"),
        (b"[[rule]]", b"[[rule]", "not a TOML file"),
        (b'"r"', b'"\xff"', "not a TOML file"),
        (b"[[rule]]", b"x = " + b"[" * 5000, "not a TOML file"),
    ],
)
def test_broken_catalogues_are_refused(old: bytes, new: bytes, message: str) -> None:
    assert old in SMALL
    assert len(parse_catalogue(SMALL).rules) == 1
    with pytest.raises(AuditError, match=re.escape(message)):
        parse_catalogue(SMALL.replace(old, new, 1))


def test_a_rule_is_there_once() -> None:
    twice = SMALL + SMALL.partition(b"version = 1\n")[2]
    with pytest.raises(AuditError, match=r"rule `x\.1` is there twice"):
        parse_catalogue(twice)


def test_what_cannot_be_shown_is_said() -> None:
    assert len(CANNOT) == 8
    text = " ".join(CANNOT)
    for word in ("noise", "lawful basis", "tags", "consent", "backups", "HIPAA",
                 "colluding", "key", "anonymous", "outside"):  # fmt: skip
        assert word in text
    assert "not whether anything is lawful" in SCORE_MEANS


def test_the_page_about_compliance_says_the_same() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide" / "compliance.md").read_text()
    assert f" {len(RULES)} rules" in page
    table = dict(
        re.findall(r"^\| `([a-z-]+)` \|.*\| ([A-Z_]+) \|$", page, re.MULTILINE)
    )
    assert table
    assert table.items() <= AT_CEILING.items()
    for outcome in get_args(RuleOutcome):
        assert outcome in page
