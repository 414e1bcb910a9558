# SPDX-License-Identifier: Apache-2.0
"""The log's record of a decision; old files are still read, strange ones not."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from lexfed.data.builtin.declarations import DeclaredTag
from lexfed.data.schema import Column as DataColumn
from lexfed.data.schema import Schema
from lexfed.errors import ConfigError
from lexfed.law import explanations as module
from lexfed.law.articles import load_catalogues
from lexfed.law.catalogue import BUILT_IN
from lexfed.law.decisions import (
    StatedTag,
    articles_known,
    declared_tags,
    suggest_by_names,
    tag_schema,
)
from lexfed.law.explanations import PARTS, Consultation, Ground, Proposal, fingerprint
from lexfed.law.tagger.suggestions import (
    DescribedColumn,
    Suggestion,
    TagEvidence,
    TaggerSettings,
)
from lexfed.law.tags import Obligation, Tag, TaggedSchema
from lexfed.tiers import Tier

LAWS = load_catalogues(BUILT_IN)
SCHEMA = Schema(
    (
        DataColumn("birth_date", "number", range=(0, 110)),
        DataColumn("hiv_status", "flag"),
        DataColumn("zip", "category", values=("a", "b")),
    ),
    target="hiv_status",
)
STATED = {
    "birth_date": StatedTag(Tier.PERSONAL, "they said so", "demographic"),
    "hiv_status": StatedTag(Tier.SPECIAL, "health data", "health"),
    "zip": StatedTag(Tier.NON_PERSONAL, "a region of a million"),
}
SUGGESTED = suggest_by_names(SCHEMA.names, "patients", TaggerSettings())


def tagged() -> TaggedSchema:
    return tag_schema(SCHEMA, {}, STATED, None, LAWS, SUGGESTED)


def test_a_column_that_people_tagged_has_the_articles_of_its_category() -> None:
    found = tagged().tags
    rules = {name: {o.rule for o in tag.obligations} for name, tag in found.items()}
    assert {"gdpr.art4.1", "hipaa.C", "ccpa.pi"} <= rules["birth_date"]
    assert {"gdpr.art9.health", "hipaa.phi", "ccpa.spi.health"} <= rules["hiv_status"]
    # Without a category only what holds for the whole tier.
    assert rules["zip"] == {"gdpr.recital26"}
    assert found["zip"].category == "stated"


def test_what_a_person_overruled_is_kept_beside_the_decision() -> None:
    found = tagged().tags
    assert not found["hiv_status"].overrules
    proposal = found["zip"].proposal
    assert proposal is not None
    assert found["zip"].overrules
    assert (proposal.tier, proposal.category) == (Tier.PERSONAL, "location")
    assert proposal.by == "rule"
    assert any("zip" in ground.text for ground in proposal.evidence)
    assert found["zip"].reason == "a region of a million"


def test_a_tier_without_a_category_overrules_only_tiers() -> None:
    stated = {
        "birth_date": StatedTag(Tier.PERSONAL, "about the person"),
        "hiv_status": StatedTag(Tier.SPECIAL, "health data", "genetic"),
        "zip": StatedTag(Tier.PERSONAL, "coarse", "where they live"),
    }
    found = tag_schema(SCHEMA, {}, stated, None, LAWS, SUGGESTED).tags
    assert {name: tag.overrules for name, tag in found.items()} == {
        "birth_date": False, "hiv_status": True, "zip": False,
    }  # fmt: skip
    assert not Tag(Tier.PERSONAL, "x", (), "because", "person").overrules


def test_a_source_that_is_overruled_keeps_its_articles_or_gets_new_ones() -> None:
    declared = declared_tags(
        {
            name: DeclaredTag(Tier.PERSONAL, "own", (("gdpr", "Art. x"),), "its own")
            for name in SCHEMA.names
        }
    )
    stated = {
        "zip": StatedTag(Tier.SPECIAL, "because"),
        "birth_date": StatedTag(Tier.SPECIAL, "because", "frailty"),
        "hiv_status": StatedTag(Tier.SPECIAL, "because", "health"),
    }
    found = tag_schema(SCHEMA, declared, stated, ["gdpr"], LAWS)
    for name in ("zip", "birth_date"):
        assert found.tags[name].obligations == (Obligation("gdpr", "Art. x"),)
    assert found.tags["hiv_status"].obligations[0].rule == "gdpr.art4.1"
    proposal = found.tags["zip"].proposal
    assert proposal == Proposal(Tier.PERSONAL, "own", "generator", "its own")
    known = {name: articles_known(tag, found.asked) for name, tag in found.tags.items()}
    assert known == {"zip": True, "birth_date": False, "hiv_status": True}


def test_articles_are_known_where_a_catalogue_was_asked_about_a_category() -> None:
    found = tagged()
    known = {name: articles_known(tag, found.asked) for name, tag in found.tags.items()}
    assert known == {"birth_date": True, "hiv_status": True, "zip": False}
    # As older runs have written it: nobody was asked.
    assert not articles_known(found.tags["hiv_status"], Consultation())
    generated = Tag(Tier.SPECIAL, "own", (), "because", "generator")
    assert articles_known(generated, Consultation())


def test_nobody_is_asked_where_all_tags_came_with_the_source() -> None:
    declared = declared_tags(
        {name: DeclaredTag(Tier.PERSONAL, "x", (), "own") for name in SCHEMA.names}
    )
    found = tag_schema(SCHEMA, declared, {}, None, LAWS)
    assert not found.asked
    assert set(found.to_dict()) == {"schema", "tags"}
    assert set(found.to_dict()["tags"]["zip"]) == {
        "tier", "category", "obligations", "reason", "by",
    }  # fmt: skip


def test_new_and_old_files_are_read_and_strange_ones_are_not() -> None:
    found = tagged()
    plain = json.loads(json.dumps(found.to_dict()))
    assert TaggedSchema.from_dict(plain) == found
    assert set(plain["asked"]) == {"catalogues", "tagger"}
    old = {"schema": plain["schema"], "tags": {}}
    for name, tag in plain["tags"].items():
        kept = ("tier", "category", "reason", "by")
        old["tags"][name] = {**{k: tag[k] for k in kept}, "obligations": []}
    assert TaggedSchema.from_dict(old).asked == Consultation()
    spoilt: list[dict[str, Any]] = [
        {"asked": {**plain["asked"], "more": 1}},
        {"asked": {**plain["asked"], "tagger": {"model": 3}}},
        {"asked": {**plain["asked"], "catalogues": [{"jurisdiction": "gdpr"}]}},
        {"asked": {**plain["asked"], "catalogues": {}}},
        {"asked": []},
    ]
    for spoil in spoilt:
        with pytest.raises(ConfigError):
            TaggedSchema.from_dict({**plain, **spoil})
    tag = plain["tags"]["zip"]
    for change in ({"by": "nobody"}, {"more": 1}, {"evidence": [{"kind": "x"}]}):
        with pytest.raises(ConfigError):
            Tag.from_dict({**tag, "proposal": {**tag["proposal"], **change}})


def test_evidence_from_values_and_statistics_is_left_out() -> None:
    evidence = tuple(
        TagEvidence(kind, "special", "health", 9.0, f"told by {kind}")
        for kind in ("values", "statistics", "name")
    )
    column = DescribedColumn("t", "x", "", "", ("17",))
    found = Suggestion(column, "special", "health", 1.0, True, evidence, "en")
    proposal = Proposal.of(found)
    assert proposal.evidence == (Ground("name", "health", "9.00", "told by name"),)
    assert proposal.reason == "told by name"
    assert proposal.review


def test_suggestions_by_name_alone() -> None:
    assert suggest_by_names(["", "  "], "t", TaggerSettings()) == {}
    found = suggest_by_names(["hiv_status", "patient_id"], "t", TaggerSettings())
    assert found["hiv_status"].category == "health"
    assert found["patient_id"].column.values is None
    stated = suggest_by_names(["qx"], "t", TaggerSettings(), person="qx")["qx"]
    assert (stated.category, stated.review) == ("person_key", False)


def test_digests_say_which_catalogues_and_which_tagger() -> None:
    asked = Consultation.of(LAWS, tagger=True)
    assert [law for law, _ in asked.catalogues] == ["gdpr", "hipaa", "ccpa"]
    assert set(asked.tagger) == set(PARTS)
    assert all(len(digest) == 64 for digest in asked.tagger.values())
    assert Consultation.of(LAWS, tagger=False).tagger == {}


def test_a_changed_byte_changes_the_digest_of_its_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "copy"
    for name in ("lexicon/en.tsv", "packs/a.tsv", "packs/b.tsv", "net/w.bin", "x.tsv"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "code.py").write_text("1")
    monkeypatch.setattr(module, "files", lambda _: root)
    ask = fingerprint.__wrapped__
    before = ask()
    (root / "code.py").write_text("2")
    assert ask() == before
    changes = {
        "lexicon": "lexicon/en.tsv",
        "packs": "packs/b.tsv",
        "model": "net/w.bin",
    }
    for part, name in changes.items():
        (root / name).write_text("other")
        after = ask()
        assert {p for p in PARTS if after[p] != before[p]} == {part}
        before = after
    (root / "packs/b.tsv").unlink()
    assert ask()["packs"] != before["packs"]


def test_the_parts_are_really_there() -> None:
    folder = files("lexfed.law.tagger")
    assert (folder / "lexicon" / "en.tsv").is_file()
    assert len(set(fingerprint().values())) == len(PARTS)
