# SPDX-License-Identifier: Apache-2.0
"""Agreeing on a programme: a site computes it, compares, and pays, or refuses."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from lexfed.federation.programme.json_form import to_bytes
from lexfed.federation.programme.messages import Refusal, answer_from_bytes
from lexfed.federation.programme.sequence import Programme
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import set_ceiling
from lexfed.run.deployed.signed_messages import RunEnd, refusal_code, seal, unseal
from lexfed.run.deployed.site.consent import give_consent
from lexfed.run.deployed.site.door import LOG as OWN_LOG
from lexfed.signing.keys import Signer, create_key
from lexfed.tiers import Tier
from support.deployed.leader import RUN, Leader, rounds, with_clip, with_sigma
from support.deployed.worlds import World, config_text


def leader(world: World, **words: str) -> Leader:
    world.agree(config_text(**words))
    world.doors()
    asking = Leader(world, world.folder / "lexfed.toml")
    asking.join_all()
    return asking


def own_log(world: World, site: str) -> str:
    return (world.sites[site].state / OWN_LOG).read_text()


def test_the_last_bits_may_be_those_of_another_machine(world: World) -> None:
    asking = leader(world)
    ours = asking.priced().programme
    # Less noise than is paid for, by so little that a comparison lets it pass.
    assert (
        refusal_code(asking.offer("north", with_sigma(ours, 1.0 - 2**-33))) == "budget"
    )
    offered = with_sigma(ours, 1.0 - 2**-44)
    assert refusal_code(asking.offer("north", offered)) is None
    assert refusal_code(asking.begin("north", offered)) is None


def _reads_less(programme: Programme) -> Programme:
    last = programme.stages[-1]
    releases = tuple(
        replace(release, reads=Tier.NON_PERSONAL)
        for release in last.releases
        if release
    )
    return replace(
        programme, stages=(*programme.stages[:-1], replace(last, releases=releases))
    )


def _without_a_round(programme: Programme) -> Programme:
    last = programme.stages[-1]
    fewer = replace(last, releases=last.releases[:-1])
    return replace(programme, stages=(*programme.stages[:-1], fewer))


@pytest.mark.no_cover
@pytest.mark.parametrize(
    ("change", "where"),
    [
        (lambda p: with_sigma(p, 0.5), "sigma"),
        (lambda p: with_sigma(p, 1.0 - 1e-7), "sigma"),
        (lambda p: with_clip(p, 2.0), "clip"),
        (_reads_less, "reads"),
        (_without_a_round, "releases"),
        (lambda p: replace(p, sites=("north", "south", "west")), "sites"),
        (lambda p: replace(p, sites=p.sites[:2]), "sites"),
        (lambda p: replace(p, trust="central"), "trust"),
        (lambda p: replace(p, seed=4), "seed"),
        (lambda p: replace(p, mechanism="none"), "mechanism"),
    ],
)
def test_another_programme_than_it_computes_is_refused(
    world: World, change: Callable[[Programme], Programme], where: str
) -> None:
    asking = leader(world)
    answer = asking.offer("north", change(asking.priced().programme))
    assert refusal_code(answer) == "programme"
    assert where in own_log(world, "north").splitlines()[-1]
    assert refusal_code(asking.begin("north", asking.priced().programme)) == "order"


def test_what_is_no_programme_is_refused(world: World) -> None:
    asking = leader(world)
    programme = asking.priced().programme
    for text in ("", "{}", to_bytes(programme).decode() + " "):
        assert (
            refusal_code(asking.offer("north", programme, programme=text)) == "message"
        )


def test_statements_of_others_are_checked(world: World, tmp_path: Path) -> None:
    asking = leader(world)
    programme = asking.priced().programme

    def offered(**changed: bytes) -> str | None:
        said = {**asking.statements, **changed}
        return refusal_code(asking.offer("north", programme, said))

    south, other = asking.said("south"), "cd" * 32
    stranger = Signer("south", create_key(tmp_path / "strange" / "key.pem"))
    assert offered() is None
    assert offered(south=seal("statement", south, stranger)) == "statements"
    replayed = south.model_copy(update={"run": other})
    signed = world.signer("south")
    assert offered(south=seal("statement", replayed, signed)) == "statements"
    weaker = south.model_copy(update={"tiers": {**south.tiers, "age": "non_personal"}})
    assert offered(south=seal("statement", weaker, signed)) == "statements"
    assert offered(south=asking.statements["north"]) == "statements"
    assert offered(south=b"") == "statements"
    two = {name: asking.statements[name] for name in ("north", "south")}
    assert refusal_code(asking.offer("north", programme, two)) == "statements"


def test_the_coordinator_cannot_weaken_what_a_site_said(world: World) -> None:
    """Its tags are in its own statement, so a weaker programme is another one."""
    kit = world.sites["north"]
    weaker = leader(world).priced().programme
    (kit.folder / "tags.toml").write_text(
        '[columns]\nage = { tier = "special", reason = "a small village" }\n'
    )
    before = world.folder / "lexfed.toml"
    world.doors()
    asking = Leader(world, before)
    asking.join_all()
    assert refusal_code(asking.offer("north", weaker)) == "programme"
    loose = asking.said("north").model_copy(
        update={"tiers": {**asking.said("north").tiers, "age": "personal"}}
    )
    lying = {**asking.statements, "north": seal("statement", loose, world.signer())}
    assert refusal_code(asking.offer("north", weaker, lying)) == "statements"
    assert refusal_code(asking.offer("north", asking.priced().programme)) is None


def test_an_old_statement_of_its_own_is_not_its_word_any_more(world: World) -> None:
    asking = leader(world)
    before, weaker = dict(asking.statements), asking.priced().programme
    (world.sites["north"].folder / "site.toml").write_text("[budget]\nepsilon = 0.5\n")
    asking.join_all()
    assert refusal_code(asking.offer("north", weaker, before)) == "statements"
    assert "not what it said" in own_log(world, "north")


def test_its_own_budget_is_part_of_what_it_computes(world: World) -> None:
    kit = world.sites["north"]
    generous = leader(world).priced().programme
    (kit.folder / "site.toml").write_text("[budget]\nepsilon = 0.5\n")
    world.doors()
    asking = Leader(world, world.folder / "lexfed.toml")
    asking.join_all()
    assert refusal_code(asking.offer("north", generous)) == "programme"
    strict = asking.priced()
    claim = strict.claim(strict.programme.rounds)
    assert claim is not None
    assert claim.epsilon <= 0.5
    assert refusal_code(asking.offer("north", strict.programme)) is None


def test_a_lasting_ledger_without_room_does_not_begin(world: World) -> None:
    kit = world.sites["north"]
    (kit.folder / "site.toml").write_text(
        '[ledger]\nfile = "own.ledger"\ndata_set = "patients"\n'
    )
    ledger = LastingLedger.open(kit.folder / "own.ledger", "north", "patients")
    set_ceiling(ledger, "record", Ceiling.of(0.1, 1e-4), "the board")
    ledger.close()
    asking = leader(world, test="false", trust="central")
    programme = asking.priced().programme
    assert refusal_code(asking.offer("north", programme)) is None
    assert refusal_code(asking.begin("north", programme)) == "budget"
    # The numbers say what others spent there: they stay at home.
    assert refusal_code(asking.begin("north", programme)) == "budget"


def test_what_was_agreed_to_stays_after_a_restart(world: World) -> None:
    asking = leader(world)
    programme = asking.opened("north").programme
    world.doors()
    asking.join_all()
    nearly = with_sigma(programme, 1.0 + 2**-48)
    assert refusal_code(asking.offer("north", nearly)) == "programme"
    assert refusal_code(asking.offer("north", programme)) is None
    other = {"log": "example.org/log/other/0123456789abcdef"}
    assert refusal_code(asking.begin("north", programme, **other)) == "order"
    assert (
        refusal_code(asking.begin("north", programme, coordinator="ab" * 32)) == "order"
    )
    assert (
        refusal_code(asking.begin("north", programme, programme="0" * 64))
        == "programme"
    )
    assert refusal_code(asking.begin("north", programme)) is None
    assert refusal_code(asking.begin("north", programme)) == "order"


def test_after_the_end_a_site_answers_no_query(world: World) -> None:
    asking = leader(world)
    priced = asking.opened("north")
    door = world.open_doors["north"]
    over = seal("end", RunEnd(run=asking.run), asking.key)
    other = seal("end", RunEnd(run="cd" * 32), asking.key)
    assert refusal_code(door(other)) == "order"
    assert unseal("end", door(over), RunEnd, world.signer("north").public).run == RUN
    assert refusal_code(door(over)) == "order"
    query = rounds(priced).next().query
    assert isinstance(answer_from_bytes(door(query.to_bytes())), Refusal)
    asking.join_all()
    asking.opened("north")


def test_steps_come_in_their_order(world: World) -> None:
    asking = leader(world)
    programme = asking.priced().programme
    world.doors()
    assert refusal_code(asking.offer("north", programme)) == "order"
    assert refusal_code(asking.begin("north", programme)) == "order"
    assert refusal_code(asking.join("north")) is None
    assert refusal_code(asking.begin("north", programme)) == "order"
    assert refusal_code(asking.offer("north", programme, run="cd" * 32)) == "order"


def test_a_file_that_changes_between_two_steps_is_refused(world: World) -> None:
    asking = leader(world, neighbours="add-remove", data="units = 180")
    programme = asking.priced().programme
    world.data("north").write_text("patient,age,ward,ill\nXq7-1,40,a,1\n")
    assert refusal_code(asking.offer("north", programme)) == "data"
    assert "has changed since" in own_log(world, "north")


def test_only_sites_of_the_run_are_asked(world: World) -> None:
    path = world.write(config_text())
    kit = world.sites["north"]
    give_consent(kit, path)
    asking = Leader(world, world.write(config_text().replace("north", "west")))
    known = json.loads((kit.state / "consents.json").read_text())
    known["consents"][asking.bundle.digest] = None
    (kit.state / "consents.json").write_text(json.dumps(known))
    world.doors()
    assert refusal_code(asking.join("north")) == "configuration"
    assert "not in the configuration" in own_log(world, "north")
