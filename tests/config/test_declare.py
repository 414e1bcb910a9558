# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from lexfed.config import demo_config, loads
from lexfed.config.declarations import (
    records_per_person_of,
    schema_of,
    tagged_schema_of,
)
from lexfed.data.builtin.registry import load_builtin
from lexfed.errors import ConfigError
from lexfed.tiers import Tier

GOOD = (Path(__file__).parent / "good.toml").read_text()
HOSPITAL = load_builtin("synthetic:hospital", sites=2, patients=20)


def test_schema_of_a_file_is_the_configuration() -> None:
    schema = schema_of(loads(GOOD))
    assert schema.names == ("age", "blood type", "ward", "smoker", "readmitted")
    assert schema.target == "readmitted"
    assert schema.person == "patient_id"
    assert schema.site == "hospital"
    assert schema.by_name("ward").missing is False
    assert schema.by_name("age").range == (0.0, 110.0)


def test_scale_of_a_number_follows_its_range_unless_stated() -> None:
    wide = GOOD.replace("[0, 110]", "[0, 5000]")
    assert schema_of(loads(GOOD)).by_name("age").resolved_scale() == "linear"
    assert schema_of(loads(wide)).by_name("age").resolved_scale() == "log"
    for scale in ("linear", "symlog"):
        stated = GOOD.replace("[0, 110]", f'[0, 5000], scale = "{scale}"')
        assert schema_of(loads(stated)).by_name("age").resolved_scale() == scale


def test_tags_of_a_file_come_from_people() -> None:
    tagged = tagged_schema_of(loads(GOOD))
    assert tagged.tier_of("blood type") is Tier.SPECIAL
    assert tagged.tags["blood type"].category == "health"
    assert tagged.tags["smoker"].by == "person"
    assert tagged.tags["ward"].reason == "operational code"


def test_built_in_source_keeps_its_declarations() -> None:
    config = loads(demo_config())
    assert schema_of(config, HOSPITAL) == HOSPITAL.schema
    tagged = tagged_schema_of(config, HOSPITAL)
    assert set(tagged.tags) == set(HOSPITAL.tags)
    jurisdictions = {
        obligation.jurisdiction
        for tag in tagged.tags.values()
        for obligation in tag.obligations
    }
    assert jurisdictions == {"gdpr"}


def test_configuration_overrules_a_built_in_source() -> None:
    text = demo_config() + (
        "[data.columns]\nage = { kind = 'number', range = [18, 90] }\n"
        "[law.columns]\nage = { tier = 'special', reason = 'clinic of the old' }\n"
    )
    config = loads(text)
    assert schema_of(config, HOSPITAL).by_name("age").range == (18.0, 90.0)
    assert tagged_schema_of(config, HOSPITAL).tier_of("age") is Tier.SPECIAL


def test_column_that_a_built_in_source_does_not_have() -> None:
    text = demo_config() + "[data.columns]\nagee = { kind = 'flag' }\n"
    with pytest.raises(ConfigError, match="has no column `agee`") as caught:
        schema_of(loads(text), HOSPITAL)
    assert caught.value.hint == "did you mean `age`?"


def test_other_parts_of_a_built_in_source() -> None:
    text = demo_config().replace(
        "test_size = 0.2", "test_size = 0.2\nsites = { count = 3 }\ntarget = 'sex'"
    )
    schema = schema_of(loads(text), HOSPITAL)
    assert schema.target == "sex"
    assert schema.person == HOSPITAL.schema.person
    assert schema.site == HOSPITAL.schema.site


def test_category_is_carried_into_tags() -> None:
    law = "[law.columns]\nage = { tier = 'special', reason = 'clinic of the old'"
    text = demo_config() + law + ", category = 'frailty' }\n"
    assert tagged_schema_of(loads(text), HOSPITAL).tags["age"].category == "frailty"
    text = demo_config() + law + " }\n"
    own = HOSPITAL.tags["age"].category
    assert tagged_schema_of(loads(text), HOSPITAL).tags["age"].category == own
    assert tagged_schema_of(loads(GOOD)).tags["smoker"].category == "stated"


CATALOGUE = """\
version = 1
jurisdiction = "mine"
title = "A law of our own"
[[rule]]
id = "mine.1"
reference = "Mine 1"
obligation = "Ask first."
categories = ["health"]
"""


def test_people_get_articles_of_the_laws_asked(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(CATALOGUE)
    text = GOOD.replace('["gdpr", "hipaa"]', '["hipaa"]\ncatalogues = ["mine.toml"]')
    tagged = tagged_schema_of(loads(text), base=tmp_path)
    blood = tagged.tags["blood type"].obligations
    assert {each.jurisdiction for each in blood} == {"hipaa", "mine"}
    assert tagged.tags["smoker"].obligations == ()  # no category, and no tier rule
    assert [law for law, _ in tagged.asked.catalogues] == ["hipaa", "mine"]
    proposal = tagged.tags["smoker"].proposal
    assert proposal is not None
    assert proposal.category == "health"


def test_a_catalogue_that_cannot_be_used(tmp_path: Path) -> None:
    text = GOOD.replace('["gdpr", "hipaa"]', '["gdpr"]\ncatalogues = ["mine.toml"]')
    with pytest.raises(ConfigError, match=r"mine\.toml: cannot be read"):
        tagged_schema_of(loads(text), base=tmp_path)
    (tmp_path / "mine.toml").write_text(CATALOGUE + "colour = 1\n")
    with pytest.raises(ConfigError, match="rule 1: unknown key `colour`"):
        tagged_schema_of(loads(text), base=tmp_path)


def test_cap_on_records_is_stated_or_the_sources_own_or_one() -> None:
    demo = demo_config()
    assert HOSPITAL.records_per_person > 2
    assert records_per_person_of(loads(demo), HOSPITAL) == HOSPITAL.records_per_person
    stated = loads(demo.replace("[data]", "[data]\nrecords_per_person = 2"))
    assert records_per_person_of(stated, HOSPITAL) == 2
    assert records_per_person_of(loads(GOOD)) == 4
    omitted = loads(GOOD.replace("records_per_person = 4\n", ""))
    assert omitted.data.records_per_person is None
    assert records_per_person_of(omitted) == 1
