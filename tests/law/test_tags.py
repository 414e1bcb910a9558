# SPDX-License-Identifier: Apache-2.0
"""Every column has a tag with a reason, and people overrule the source."""

import json

import pytest

from lexfed.data.builtin.declarations import DeclaredTag
from lexfed.data.builtin.hospital import hospital
from lexfed.data.schema import Column, Schema
from lexfed.errors import ConfigError
from lexfed.law.decisions import StatedTag, declared_tags, tag_schema
from lexfed.law.tags import Obligation, Tag, TaggedSchema
from lexfed.tiers import Tier

SCHEMA = Schema(
    (
        Column("age", "number", range=(0, 110)),
        Column("risk", "number", range=(0, 1), sources=("age", "genes")),
        Column("mrn", "category", values=("a", "b")),
        Column("ill", "flag"),
    ),
    target="ill",
    person="pid",
)
ART9 = Obligation("gdpr", "GDPR Art. 9(1)")


def tag(tier: Tier, reason: str = "because") -> Tag:
    return Tag(tier, "stated", (ART9,), reason, "person")


TAGS = {
    "age": tag(Tier.PERSONAL),
    "risk": tag(Tier.NON_PERSONAL),
    "genes": tag(Tier.SPECIAL),
    "mrn": tag(Tier.IDENTIFIER),
    "ill": tag(Tier.SPECIAL),
}


def test_tiers_features_and_columns() -> None:
    tagged = TaggedSchema(SCHEMA, TAGS)
    assert tagged.tier_of("age") == Tier.PERSONAL
    assert tagged.tier_of("risk") == Tier.SPECIAL
    assert [column.name for column in tagged.features()] == ["age", "risk"]
    assert tagged.columns_in(Tier.SPECIAL) == ("risk", "ill")
    assert tagged.columns_in(Tier.IDENTIFIER) == ("mrn",)
    with pytest.raises(ConfigError, match="`genes`: not declared"):
        tagged.tier_of("genes")


@pytest.mark.parametrize("name", ["age", "ill", "genes"])
def test_an_untagged_column_source_or_target_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match=f"column `{name}`: has no tag") as caught:
        TaggedSchema(SCHEMA, {k: v for k, v in TAGS.items() if k != name})
    assert "[law.columns]" in caught.value.hint


def test_a_tag_of_no_column_is_refused_and_a_key_may_have_one() -> None:
    with pytest.raises(ConfigError, match="`ages`: has a tag but is not declared"):
        TaggedSchema(SCHEMA, {**TAGS, "ages": tag(Tier.PERSONAL)})
    TaggedSchema(SCHEMA, {**TAGS, "pid": tag(Tier.IDENTIFIER)})


def test_a_tag_needs_a_reason_and_a_known_author() -> None:
    with pytest.raises(ConfigError, match="needs a reason"):
        tag(Tier.PERSONAL, " ")
    plain = tag(Tier.PERSONAL).to_dict()
    with pytest.raises(ConfigError, match="unknown author"):
        Tag.from_dict({**plain, "by": "nobody"})


def test_a_tagged_schema_survives_json_and_is_strict() -> None:
    tagged = TaggedSchema(SCHEMA, TAGS)
    plain = json.loads(json.dumps(tagged.to_dict()))
    assert TaggedSchema.from_dict(plain) == tagged
    with pytest.raises(ConfigError, match="unknown field"):
        TaggedSchema.from_dict({**plain, "note": ""})
    with pytest.raises(ConfigError, match="field `tier`: expected one of"):
        Tag.from_dict({**plain["tags"]["age"], "tier": "public"})
    with pytest.raises(ConfigError, match="field `tags`: expected a table"):
        TaggedSchema.from_dict({**plain, "tags": []})


def test_people_overrule_the_source_and_keep_its_articles() -> None:
    declared = declared_tags(
        {
            "age": DeclaredTag(
                Tier.PERSONAL,
                "demographic",
                (("gdpr", "GDPR Art. 4(1)"), ("hipaa", "HIPAA 45 CFR 160.103")),
                "from the source",
            ),
            "elsewhere": DeclaredTag(Tier.SPECIAL, "health", (), "not used here"),
        }
    )
    stated = {name: StatedTag(TAGS[name].tier, "said so") for name in TAGS}
    stated["age"] = StatedTag(Tier.SPECIAL, "only very old people here")
    tagged = tag_schema(SCHEMA, declared, stated, jurisdictions=["gdpr"])
    age = tagged.tags["age"]
    assert (age.tier, age.by, age.category) == (Tier.SPECIAL, "person", "demographic")
    assert age.reason == "only very old people here"
    assert [o.reference for o in age.obligations] == ["GDPR Art. 4(1)"]
    assert "elsewhere" not in tagged.tags
    assert tagged.tags["genes"].category == "stated"


def test_the_hospitals_are_tagged_by_their_generator() -> None:
    source = hospital(patients=20, sites=2)
    tagged = tag_schema(source.schema, declared_tags(source.tags), {})
    assert {tier.label: len(tagged.columns_in(tier)) for tier in Tier} == {
        "non_personal": 4, "personal": 6, "special": 5, "identifier": 2,
    }  # fmt: skip
    assert len(tagged.features()) == 13
