# SPDX-License-Identifier: Apache-2.0
"""Joining: who is asked, what a site says about itself, and when it says nothing."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest

from lexfed.errors import AuditError, ConfigError, RunFolderError
from lexfed.privacy.accountants.gdp import epsilon_from, mu_from
from lexfed.privacy.scopes import up
from lexfed.run.deployed.signed_messages import (
    WORDS,
    JoinRequest,
    SiteStatement,
    kind_of,
    refusal,
    refusal_code,
    seal,
    unseal,
)
from lexfed.run.deployed.site.consent import cost_in_words, give_consent, take_consent
from lexfed.run.deployed.site.door import LOG
from lexfed.run.deployed.terms.bundle import Bundle
from lexfed.run.deployed.terms.site_statements import read_statements
from lexfed.signing.dsse import SignedEnvelope
from lexfed.signing.keys import Signer, create_key
from support.deployed.leader import Leader
from support.deployed.worlds import MARKER, SITES, World, config_text

POLICY = """\
version = 1
title = "of the trust"
[levels.high]
tier = "special"
weight = 2.5
[levels.medium]
tier = "personal"
weight = 1.5
[levels.low]
tier = "non_personal"
weight = 1.0
"""


def leader(world: World, **words: str) -> Leader:
    """Have all consent and open all doors; return who asks."""
    world.agree(config_text(**words))
    world.doors()
    return Leader(world, world.folder / "lexfed.toml")


def own_log(world: World, site: str) -> str:
    return (world.sites[site].state / LOG).read_text()


def test_a_site_says_what_it_is(world: World) -> None:
    asking = leader(world)
    asking.join_all()
    said = asking.said("south")
    assert (said.name, said.run, said.terms) == (
        "south",
        asking.run,
        asking.bundle.digest,
    )
    assert said.tiers == {
        "patient": "identifier",
        "age": "personal",
        "ward": "non_personal",
        "ill": "special",
    }
    assert said.units is not None
    assert (said.units.train, said.units.test) == (60, 0)
    assert bytes.fromhex(said.key) == world.signer("south").public
    assert (said.epsilon, said.caps) == (None, {})
    assert asking.join("south") == asking.statements["south"]


def test_a_site_may_have_its_rows_in_any_source(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One has a database, one a workbook, one several files; each says 60 persons."""
    lines = {
        name: [line.split(",") for line in world.data(name).read_text().split()]
        for name in SITES
    }
    database = world.folder / "north.db"
    with sqlite3.connect(database) as connection:
        connection.execute(f"CREATE TABLE rows ({', '.join(lines['north'][0])})")
        insert = "INSERT INTO rows VALUES (?, ?, ?, ?)"
        connection.executemany(insert, lines["north"][1:])
    connection.close()
    monkeypatch.setenv("LEXFED_DATABASE", f"sqlite:///{database}")
    book = openpyxl.Workbook()
    for number, line in enumerate(lines["south"]):
        book.active.append([int(c) if number and c.isdigit() else c for c in line])
    book.save(world.folder / "south.xlsx")
    header, *rest = world.data("east").read_text().split()
    for part in (0, 1):
        file = world.folder / f"east-{part}.csv"
        file.write_text("\n".join([header, *rest[part::2], ""]))
    sources = {
        "north": Path("sql:rows"), "south": world.folder / "south.xlsx",
        "east": world.folder / "east-*.csv",
    }  # fmt: skip
    monkeypatch.setattr(World, "data", lambda _, name: sources[name])
    asking = leader(world)
    asking.join_all()
    for name in SITES:
        units = asking.said(name).units
        assert units is not None
        assert (units.train, units.test) == (60, 0)


def test_where_numbers_of_persons_are_private_they_are_not_told(world: World) -> None:
    asking = leader(world, neighbours="add-remove", data="units = 180")
    asking.join_all()
    assert asking.said("north").units is None
    assert asking.priced().population.sizes is None
    assert asking.priced().population.units == 180


def test_without_consent_nothing_is_said(world: World) -> None:
    path = world.write(config_text())
    world.doors()
    assert refusal_code(Leader(world, path).join("north")) == "consent"
    assert "nobody consented" in own_log(world, "north")


@pytest.mark.parametrize(
    "other", ["epsilon = 3.5", "epsilon = 3.0\nallocation = 'inverse'"]
)
def test_another_configuration_than_consented_to_is_refused(
    world: World, other: str
) -> None:
    asking = leader(world)
    world.write(config_text().replace("epsilon = 3.0", other))
    assert refusal_code(asking.join("north")) == "consent"


def test_another_policy_than_consented_to_is_refused(world: World) -> None:
    (world.folder / "policy.toml").write_text(POLICY)
    asking = leader(world, budget='policy = "policy.toml"')
    assert refusal_code(asking.join("north")) is None
    (world.folder / "policy.toml").write_text(POLICY.replace("2.5", "2.4"))
    assert refusal_code(asking.join("north")) == "consent"
    assert refusal_code(asking.join("north", files={})) == "configuration"
    assert refusal_code(asking.join("north", files={"policy.toml": "!"})) == "message"


def test_a_consent_is_for_one_run(world: World) -> None:
    asking = leader(world)
    asking.opened("north")
    other = Leader(world, asking.path, run="cd" * 32)
    assert refusal_code(other.join("north")) == "consent"
    assert refusal_code(asking.join("north")) is None
    give_consent(world.sites["north"], asking.path)
    assert refusal_code(other.join("north")) is None


def test_a_consent_can_be_taken_by_one_run_only_also_between_two_steps(
    world: World,
) -> None:
    asking = leader(world)
    asking.join_all()
    programme = asking.priced().programme
    take_consent(world.sites["north"], asking.bundle.digest, "ef" * 32)
    assert refusal_code(asking.offer("north", programme)) == "consent"


def test_a_stranger_is_not_answered(world: World, tmp_path: Path) -> None:
    asking = leader(world)
    stranger = Signer("coordinator", create_key(tmp_path / "strange" / "key.pem"))
    asked = Leader(world, asking.path, signer=stranger)
    assert refusal_code(asked.join("north")) == "coordinator"
    by_site = Leader(world, asking.path, signer=world.signer("south"))
    assert refusal_code(by_site.join("north")) == "coordinator"


@pytest.mark.parametrize(
    ("column", "row"), [("ward", "Xq7-1,40,1"), ("patient", "40,a,1")]
)
def test_a_missing_column_is_told_at_home_only(
    world: World, column: str, row: str
) -> None:
    asking = leader(world)
    names = [n for n in ("patient", "age", "ward", "ill") if n != column]
    world.data("north").write_text(f"{','.join(names)}\n{row}\n")
    answer = asking.join("north")
    assert answer == refusal("data")
    assert f"column `{column}`" in own_log(world, "north")
    assert MARKER not in own_log(world, "north")


def test_a_value_that_cannot_be_read_is_told_nowhere(world: World) -> None:
    asking = leader(world)
    world.data("north").write_text("patient,age,ward,ill\nXq7-1,Xq7-secret,a,1\n")
    assert asking.join("north") == refusal("data")
    assert MARKER not in own_log(world, "north")


def test_a_site_with_one_class_joins(world: World) -> None:
    asking = leader(world)
    world.data("north").write_text("patient,age,ward,ill\nXq7-1,40,a,1\nXq7-2,4,b,1\n")
    assert refusal_code(asking.join("north")) is None


def test_a_site_is_stricter_with_tags_and_budgets(world: World) -> None:
    kit = world.sites["north"]
    (kit.folder / "tags.toml").write_text(
        '[columns]\nage = { tier = "special", reason = "a small village" }\n'
        'ill = { tier = "personal", reason = "less than the configuration says" }\n'
    )
    (kit.folder / "site.toml").write_text(
        "[budget]\nepsilon = 2.0\ncaps = { special = 0.5 }\n"
    )
    asking = leader(world)
    asking.join_all()
    said = asking.said("north")
    assert (said.tiers["age"], said.tiers["ill"]) == ("special", "special")
    assert (said.epsilon, said.caps) == ("2.0", {"special": "0.5"})
    priced = asking.priced()
    tagged = priced.population.tagged
    assert tagged.tier_of("age").label == "special"
    assert "a site holds it to be special" in tagged.tags["age"].reason
    assert priced.budget.epsilon == 2.0
    assert {tier.label: cap for tier, cap in priced.budget.caps.items()} == {
        "special": 0.5
    }
    claim = priced.claim(priced.programme.rounds)
    assert claim is not None
    assert claim.epsilon <= 2.0
    assert claim.tiers["special"].epsilon <= 0.5
    assert asking.opened("south").programme == priced.programme


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("tags.toml", '[columns]\nagee = { tier = "special", reason = "x" }', "agee"),
        ("tags.toml", '[columns]\nage = { tier = "special" }', "columns.age.reason"),
        ("site.toml", "[budget]\nepsilon = -1.0", "budget.epsilon"),
        ("site.toml", "epsilon", "cannot be read as TOML"),
    ],
)
def test_own_rules_that_nobody_understands_are_not_passed_over(
    world: World, file: str, content: str, reason: str
) -> None:
    (world.sites["north"].folder / file).write_text(content)
    asking = leader(world)
    assert refusal_code(asking.join("north")) == "configuration"
    assert reason in own_log(world, "north")


def test_what_the_coordinator_may_not_send(world: World) -> None:
    asking = leader(world)
    asking.join_all()
    door = world.open_doors["north"]
    assert refusal_code(door(asking.statements["north"])) == "message"
    assert refusal_code(asking.join("north", text="version = 2")) == "configuration"
    assert refusal_code(door(b"lexfed/join/1\n{}")) == "coordinator"


def test_statements_are_checked_by_whoever_reads_them(world: World) -> None:
    asking = leader(world)
    asking.join_all()
    roster = {name: world.signer(name).public for name in SITES}

    def read(
        changed: SiteStatement, name: str = "north", signer: str = "north"
    ) -> None:
        sealed = seal("statement", changed, world.signer(signer))
        said = {**asking.statements, name: sealed}
        read_statements(said, asking.bundle, asking.run, roster)

    said = asking.said("north")
    read(said)
    with pytest.raises(AuditError, match="not signed by key"):
        read(said, signer="south")
    for field, value in {
        "run": "0" * 64,
        "name": "south",
        "terms": "0" * 64,
        "key": roster["south"].hex(),
        "software": "lexfed-0.0",
        "units": None,
    }.items():
        with pytest.raises(AuditError, match=f"`{field}`"):
            read(said.model_copy(update={field: value}))
    with pytest.raises(AuditError, match="no statement of site `south`"):
        read_statements(
            {"north": asking.statements["north"]}, asking.bundle, asking.run, roster
        )
    weaker = said.model_copy(update={"tiers": {**said.tiers, "age": "non_personal"}})
    other = said.model_copy(update={"declared": "0" * 64})
    for lie, words in ((weaker, "less sensitive"), (other, "other columns")):
        sealed = seal("statement", lie, world.signer("north"))
        lying = replace(asking, statements={**asking.statements, "north": sealed})
        with pytest.raises(AuditError, match=words):
            lying.priced()


def test_a_message_has_one_kind_and_one_byte_form(world: World) -> None:
    signer = world.signer()
    sealed = seal("join", JoinRequest(run="0" * 64, text="", files={}), signer)
    assert kind_of(sealed) == "join"
    assert kind_of(b"") is None
    assert unseal("join", sealed, JoinRequest, signer.public).run == "0" * 64
    with pytest.raises(AuditError, match="not a message of kind"):
        unseal("offer", sealed, JoinRequest, signer.public)
    as_offer = sealed.replace(b"lexfed/join/1", b"lexfed/offer/1")
    with pytest.raises(AuditError, match="another payload type"):
        unseal("offer", as_offer, JoinRequest, signer.public)
    with pytest.raises(AuditError, match="not the fields"):
        unseal("join", sealed, SiteStatement, signer.public)


def test_a_refusal_is_a_code_word() -> None:
    for why in WORDS:
        assert refusal_code(refusal(why)) == why
    assert refusal_code(b'lexfed/refusal/1\n{"why": "money"}') == "message"
    assert refusal_code(b"anything else") is None


def test_payloads_that_are_spelled_otherwise_are_refused(world: World) -> None:
    signer = world.signer()
    payload = json.dumps({"run": "0" * 64, "text": "", "files": {}}).encode()
    kind = "application/vnd.lexfed.join+json"
    envelope = SignedEnvelope.sign(payload, signer, payload_type=kind)
    with pytest.raises(AuditError, match="not canonical"):
        unseal(
            "join", b"lexfed/join/1\n" + envelope.to_bytes(), JoinRequest, signer.public
        )


# Consent


def test_people_read_what_it_costs(world: World) -> None:
    path = world.write(config_text(budget="caps = { special = 0.75 }"))
    words = "\n".join(cost_in_words(world.sites["north"], path))
    assert "run `small` with 3 sites: north, south, east" in words
    assert "NOT PRIVATE: noise is seeded" in words
    assert "at most epsilon 3 at delta 0.0001 about the whole record of one person" in (
        words
    )
    assert "at most epsilon 0.75 about special columns" in words
    assert "at most epsilon 3 about the label `ill`, which no cap binds" in words
    assert "this site adds all the noise" in words
    assert "special: ill" in words
    assert Bundle.read(path).digest in words
    added = world.write(config_text(neighbours="add-remove", data="units = 120"))
    replaced = up(epsilon_from(2 * mu_from(3.0, 1e-4), 1e-4), digits=4)
    label = f"at most epsilon {replaced:g} about the label `ill`, which no cap binds"
    assert label in cost_in_words(world.sites["north"], added)
    assert replaced > 6.0
    shares = world.write(
        config_text(
            neighbours="add-remove",
            data="units = 120",
            trust="distributed",
            privacy='accountant = "rdp"',
            federation="dropouts = 1",
        )
    )
    assert any(
        "3 sites, of which 0 may collude and 1 drop out" in line
        for line in cost_in_words(world.sites["north"], shares)
    )
    assert any(
        line.startswith("more than that about the label `ill`")
        for line in cost_in_words(world.sites["north"], shares)
    )
    none = world.write(config_text(trust="central", privacy='mechanism = "none"'))
    assert any(
        "no noise is added" in line
        for line in cost_in_words(world.sites["north"], none)
    )


def test_nobody_consents_to_what_cannot_be_run(world: World) -> None:
    kit = world.sites["north"]
    with pytest.raises(ConfigError, match="cannot be read"):
        give_consent(kit, world.folder / "none.toml")
    path = world.write(config_text().replace('"north.csv", ', ""))
    with pytest.raises(ConfigError, match="`north` is not among the sites"):
        give_consent(kit, path)


def test_consents_that_cannot_be_read_are_none(world: World) -> None:
    kit = world.sites["north"]
    asking = leader(world)
    (kit.state / "consents.json").write_text('{"consents": {"x": null}}')
    assert refusal_code(asking.join("north")) == "state"
    with pytest.raises(RunFolderError, match="damaged"):
        give_consent(kit, asking.path)
