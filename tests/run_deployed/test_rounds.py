# SPDX-License-Identifier: Apache-2.0
"""Rounds at a site's door: what a lying coordinator gets, and what survives."""

import errno
import os
import random
from collections.abc import Callable
from dataclasses import replace

import pytest

from lexfed.errors import SecAggError
from lexfed.federation.engines.masked_setting import epoch_settings
from lexfed.federation.programme.messages import (
    Query,
    Refusal,
    Reply,
    answer_from_bytes,
)
from lexfed.ledger.bookkeeping.ceilings import Ceiling
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.decisions import set_ceiling
from lexfed.privacy.releases import Release
from lexfed.run.deployed.signed_messages import KINDS, refusal_code
from lexfed.run.deployed.site.consent import give_consent
from lexfed.run.deployed.site.door import LOG as OWN_LOG
from lexfed.run.deployed.site.run_state import RunState, SiteBusy, SiteLock
from support.deployed.leader import LOG, RUN, Asking, Leader, rounds
from support.deployed.worlds import MARKER, World, config_text


def opened(world: World, **words: str) -> tuple[Leader, Asking]:
    """Take all sites to the first round."""
    world.agree(config_text(**words))
    world.doors()
    asking = Leader(world, world.folder / "lexfed.toml")
    asking.join_all()
    for name in world.sites:
        priced = asking.opened(name)
    return asking, rounds(priced)


def asked(world: World, query: Query, site: str = "north") -> Reply | Refusal:
    return answer_from_bytes(world.open_doors[site](query.to_bytes()))


def reason(answer: Reply | Refusal) -> str:
    assert isinstance(answer, Refusal)
    return answer.reason


def ledger(world: World, site: str = "north") -> list[str]:
    path = world.sites[site].state / "runs" / RUN / "ledger.jsonl"
    return path.read_text().splitlines()


def test_before_it_has_agreed_a_site_answers_no_query(world: World) -> None:
    _, coordinator = opened(world)
    query = coordinator.next().query
    world.doors()
    assert reason(asked(world, query)) == "no programme was agreed on"
    assert reason(answer_from_bytes(world.open_doors["north"](b""))) == (
        "no programme was agreed on"
    )


def _less_noise(query: Query) -> Query:
    assert query.release is not None
    [group] = query.release.groups
    quiet = replace(group, sigma=group.sigma / 2)
    return replace(query, release=replace(query.release, groups=(quiet,)))


def _reads_nothing(query: Query) -> Query:
    assert query.release is not None
    return replace(query, release=replace(query.release, reads=None, name="other"))


@pytest.mark.parametrize(
    ("lie", "words"),
    [
        (lambda q: replace(q, programme="0" * 64), "another programme"),
        (lambda q: replace(q, log="example.org/other/0"), "another log"),
        (_less_noise, "not the one that was agreed on"),
        (_reads_nothing, "not the one that was agreed on"),
        (lambda q: replace(q, release=None), "not the one that was agreed on"),
        (lambda q: replace(q, round=2), "not the one that was agreed on"),
        (lambda q: replace(q, round=0), "not the one that was agreed on"),
        (lambda q: replace(q, stage=99), "not the one that was agreed on"),
        (lambda q: replace(q, step=99), "not the one that was agreed on"),
        (lambda q: replace(q, kind="metrics"), "not the one that was agreed on"),
        (lambda q: replace(q, tower=1), "not the one that was agreed on"),
    ],
)
@pytest.mark.parametrize("trust", ["local", "central"])
def test_another_question_than_agreed_on_is_refused_and_costs_nothing(
    world: World, trust: str, lie: Callable[[Query], Query], words: str
) -> None:
    _, coordinator = opened(world, trust=trust)
    query = coordinator.next().query
    assert words in reason(asked(world, lie(query)))
    assert ledger(world) == []
    assert isinstance(asked(world, query), Reply)
    assert len(ledger(world)) == 1


@pytest.mark.parametrize("trust", ["local", "central"])
def test_a_round_is_answered_once(world: World, trust: str) -> None:
    _, coordinator = opened(world, trust=trust)
    first = coordinator.next()
    answers = [door(first.query.to_bytes()) for door in world.open_doors.values()]
    coordinator.learn(first, answers)
    second = coordinator.next()
    assert "was answered already" in reason(asked(world, first.query))
    assert isinstance(asked(world, second.query), Reply)
    assert "was answered already" in reason(asked(world, second.query))
    back = replace(first.query, round=3)
    assert isinstance(asked(world, back), Refusal)
    assert len(ledger(world)) == 2


@pytest.mark.parametrize("trust", ["local", "central"])
def test_a_new_job_does_not_have_a_round_answered_again(
    world: World, trust: str
) -> None:
    """A second answer would have other noise; the coordinator goes on instead."""
    leader, coordinator = opened(world, trust=trust)
    first = coordinator.next()
    answers = [door(first.query.to_bytes()) for door in world.open_doors.values()]
    for _ in range(2):
        world.doors()
        leader.statements.clear()
        leader.opened("north")
        assert reason(asked(world, first.query)) == "round 1 was answered already"
        assert len(ledger(world)) == 1
    coordinator.learn(first, answers)
    second = coordinator.next().query
    assert isinstance(asked(world, second), Reply)
    world.doors()
    leader.statements.clear()
    leader.opened("north")
    back = replace(first.query, round=3, stage=0, step=0)
    assert isinstance(asked(world, back), Refusal)
    assert len(ledger(world)) == 2


def test_a_site_that_does_not_know_what_it_answered_answers_nothing(
    world: World,
) -> None:
    leader, coordinator = opened(world)
    assert isinstance(asked(world, coordinator.next().query), Reply)
    path = world.sites["north"].state / "runs" / RUN / "answered"
    kept = path.read_bytes()
    for damaged in (b"", b"1", b"1 0", b"-1 0 0", b"1 0 0 0", kept + b"\n", None):
        path.unlink() if damaged is None else path.write_bytes(damaged)
        world.doors()
        leader.join_all()
        programme = leader.priced().programme
        assert refusal_code(leader.offer("north", programme)) is None
        assert refusal_code(leader.begin("north", programme)) == "state"
        path.write_bytes(kept)
    assert refusal_code(leader.begin("north", programme)) is None


def test_a_place_that_cannot_be_written_costs_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, coordinator = opened(world)
    query = coordinator.next().query

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert reason(asked(world, query)) == "its state cannot be written"
    assert ledger(world) == []
    assert isinstance(asked(world, query), Reply)


def test_a_site_that_missed_rounds_takes_part_again(world: World) -> None:
    leader, coordinator = opened(world)
    first = coordinator.next()
    answers = [world.open_doors[n](first.query.to_bytes()) for n in world.sites]
    coordinator.learn(first, answers)
    second = coordinator.next()
    others = [world.open_doors[n](second.query.to_bytes()) for n in ("south", "east")]
    assert all(isinstance(answer_from_bytes(each), Reply) for each in others)
    world.doors()
    leader.statements.clear()
    leader.opened("north")
    third = replace(second.query, round=2)
    assert isinstance(asked(world, third), Reply)
    assert len(ledger(world)) == 2


# What can go wrong at a site


def test_a_full_disk_is_a_refusal(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, coordinator = opened(world)
    query = coordinator.next().query
    for kit in world.sites.values():
        give_consent(kit, leader.path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert reason(asked(world, query)) == "its state cannot be written"
        other = Leader(world, leader.path, run="cd" * 32)
        other.join_all()
        assert refusal_code(other.offer("south", other.priced().programme)) == "state"
    assert ledger(world) == []


def test_a_state_that_cannot_be_written_is_a_refusal(world: World) -> None:
    world.agree(config_text())
    world.doors()
    leader = Leader(world, world.folder / "lexfed.toml")
    kit = world.sites["north"]
    (kit.state / "runs").write_text("in the way")
    assert refusal_code(leader.join("north")) == "state"
    (kit.state / "runs").unlink()
    (kit.state / "lock").unlink()
    world.doors()
    (kit.state / "lock").mkdir()
    assert refusal_code(leader.join("north")) == "state"
    (kit.state / "lock").rmdir()
    assert refusal_code(leader.join("north")) is None
    state = RunState(kit, RUN)
    (state.folder / "programme.json").mkdir()
    leader.join_all()
    assert refusal_code(leader.offer("north", leader.priced().programme)) == "state"


def test_a_damaged_ledger_is_not_continued(world: World) -> None:
    leader, _ = opened(world)
    world.doors()
    path = world.sites["north"].state / "runs" / RUN / "ledger.jsonl"
    path.write_text("{}\n")
    leader.join_all()
    programme = leader.priced().programme
    assert refusal_code(leader.offer("north", programme)) is None
    assert refusal_code(leader.begin("north", programme)) == "state"


def test_two_processes_never_share_a_ledger(world: World) -> None:
    world.agree(config_text())
    world.doors()
    kit = world.sites["north"]
    leader = Leader(world, world.folder / "lexfed.toml")
    with SiteLock(kit):
        assert refusal_code(leader.join("north")) == "busy"
        with pytest.raises(SiteBusy, match="held by another process"):
            SiteLock(kit)
    assert refusal_code(leader.join("north")) is None


def test_a_defect_is_told_by_its_name_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, coordinator = opened(world)
    query = coordinator.next().query

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError(f"{MARKER}1 is 40")

    with monkeypatch.context() as patch:
        patch.setattr("lexfed.federation.site.data_holder.contribute", broken)
        patch.setattr("lexfed.run.deployed.site.enrolment.read_own_data", broken)
        assert reason(asked(world, query)) == "something is wrong in its software"
        assert refusal_code(leader.join("south")) == "defect"
    for site in ("north", "south"):
        text = (world.sites[site].state / OWN_LOG).read_text()
        assert "ZeroDivisionError" in text
        assert MARKER not in text


def test_a_kept_epoch_is_never_entered_again(world: World) -> None:
    leader, _ = opened(world, trust="distributed", privacy='accountant = "rdp"')
    keys = {name: world.signer(name).public for name in world.sites}
    programme = leader.priced().programme
    agreed = epoch_settings(programme, LOG, keys, world.signer().public)
    kept = RunState(world.sites["north"], RUN).settings(agreed)
    assert [kept(epoch).epoch for epoch in (1, 1, 3)] == [1, 1, 3]
    with pytest.raises(SecAggError, match="epoch 2 does not come after epoch 3"):
        kept(2)
    again = RunState(world.sites["north"], RUN).settings(agreed)
    with pytest.raises(SecAggError, match="epoch 3 does not come after epoch 3"):
        again(3)
    assert again(4).epoch == 4
    with pytest.raises(SecAggError, match="does not come after epoch 4"):
        again(5 + 2**20)  # would leave no numbers to the epochs that follow


# Whatever arrives


def _spoiled(chance: random.Random, content: bytes) -> bytes:
    """Change, cut, repeat or replace some bytes of a message."""
    kind = chance.randrange(5)
    at = chance.randrange(len(content)) if content else 0
    if kind == 0:
        return content[:at]
    if kind == 1:
        return content[:at] + chance.randbytes(8) + content[at + 8 :]
    if kind == 2:
        return content[:at] + chance.randbytes(1) + content[at:]
    if kind == 3:
        return content + content[at:]
    line = f"lexfed/{chance.choice(KINDS)}/1\n".encode()
    return line + content[content.find(b"\n") + 1 :]


@pytest.mark.parametrize("trust", ["local", "distributed"])
def test_whatever_arrives_the_door_answers_and_tells_nothing(
    world: World, trust: str
) -> None:
    words = {"privacy": 'accountant = "rdp"'} if trust == "distributed" else {}
    leader, coordinator = opened(world, trust=trust, **words)
    query = coordinator.next().query.to_bytes()
    said = [*leader.statements.values(), query, b"", b"\x00" * 64, b"lexfed/join/1\n"]
    chance = random.Random(7)
    door = world.open_doors["north"]
    for _ in range(300):
        answer = door(_spoiled(chance, chance.choice(said)))
        assert MARKER.encode() not in answer
        if refusal_code(answer) is None:
            assert isinstance(answer_from_bytes(answer), Refusal)
    assert ledger(world) == []
    log = (world.sites["north"].state / OWN_LOG).read_text()
    assert MARKER not in log


def test_a_lasting_ledger_that_refuses_tells_nothing_of_others(world: World) -> None:
    kit = world.sites["north"]
    (kit.folder / "site.toml").write_text(
        '[ledger]\nfile = "own.ledger"\ndata_set = "patients"\n'
    )
    _, coordinator = opened(world, trust="central", test="false")
    lasting = LastingLedger.open(kit.folder / "own.ledger")
    set_ceiling(lasting, "label", Ceiling.of(1e-3, 1e-9), "the board says stop")
    lasting.release(RUN)
    lasting.close()
    first = coordinator.next()
    assert reason(asked(world, first.query)) == "its ledger does not pay for it"
    assert ledger(world) == []
    log = (kit.state / OWN_LOG).read_text()
    assert "refused (budget)" in log


def test_a_person_at_two_sites_pays_for_both_in_the_lasting_ledger(
    world: World,
) -> None:
    _, coordinator = opened(
        world, trust="central", test="false", data="sites_per_person = 2"
    )
    query = coordinator.next().query
    assert isinstance(asked(world, query), Reply)
    lasting = LastingLedger.open(world.sites["north"].state / "lasting.ledger")
    [row] = [row for row in lasting.rows() if row.kind == "commit"]
    lasting.close()
    assert query.release is not None
    [group] = query.release.groups
    paid = Release.from_json(row.body["release"])
    assert paid.groups[0].clip == pytest.approx(2 * group.clip)
