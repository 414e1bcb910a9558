# SPDX-License-Identifier: Apache-2.0
"""Ways to get a run between organisations wrong, each noticed by a check."""

import fcntl
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lexfed.audit.entries import receipts
from lexfed.config import loads
from lexfed.config.declarations import tagged_schema_of
from lexfed.data.encoding import build_encoding
from lexfed.errors import ConfigError, Refused, SecAggError
from lexfed.federation.engines.masked_setting import epoch_settings
from lexfed.federation.programme import messages
from lexfed.federation.programme.messages import Refusal, Reply, answer_from_bytes
from lexfed.federation.site.data_holder import NOWHERE
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.purse import SitePurse
from lexfed.models.networks.specifications import network_weights
from lexfed.run.deployed.coordinator import epoch_driver
from lexfed.run.deployed.coordinator.epoch_driver import drive_epoch
from lexfed.run.deployed.coordinator.run_place import place_run
from lexfed.run.deployed.signed_messages import kind_of, refusal_code, seal
from lexfed.run.deployed.site import consent, enrolment, run_state
from lexfed.run.deployed.site.run_state import RunState
from lexfed.run.deployed.terms import agreement, bundle, site_statements
from lexfed.run.driver.round_replies import check_receipt
from lexfed.run.pricing import site_budgets
from lexfed.signing.dsse import SignedEnvelope
from lexfed.signing.keys import Signer, create_key
from lexfed.tiers import Tier
from support.deployed.leader import LOG, RUN, Leader, rounds, with_sigma
from support.deployed.worlds import SITES, Spy, World, config_text
from support.mutant import Mutant, Patch, both_tests


@contextmanager
def world(agreed: bool = True, **words: str) -> Iterator[Leader]:
    """Make a deployment; where people agreed, everybody has joined."""
    with tempfile.TemporaryDirectory() as folder:
        made = World.make(Path(folder))
        if agreed:
            made.agree(config_text(**words))
        path = made.write(config_text(**words))
        made.doors()
        leader = Leader(made, path)
        if agreed:
            leader.join_all()
        try:
            yield leader
        finally:
            made.close()


def nobody_is_asked_without_consent() -> None:
    with world(agreed=False) as leader:
        assert refusal_code(leader.join("north")) == "consent"


def a_consent_is_for_one_run() -> None:
    with world() as leader:
        leader.opened("north")
        other = Leader(leader.world, leader.path, run="cd" * 32)
        assert refusal_code(other.join("north")) == "consent"


def a_model_of_too_many_classes_is_refused() -> None:
    values = json.dumps([f"v{at}" for at in range(4000)])
    text = config_text().replace('["a", "b"]', values)
    wide = f'kind = "category", values = {values}'
    config = loads(text.replace('kind = "flag"', wide))
    tagged = tagged_schema_of(config, base=Path())
    encoding = build_encoding(tagged.schema, tagged.tiers())
    with pytest.raises(ConfigError, match="weights in a deployment"):
        bundle.require_weights(config, encoding)


def another_programme_is_refused() -> None:
    """Of the same price for the record: only the comparison can tell."""
    with world() as leader:
        ours = leader.priced().programme
        last = ours.stages[-1]
        releases = tuple(
            replace(release, reads=Tier.NON_PERSONAL)
            for release in last.releases
            if release is not None
        )
        lie = replace(last, releases=releases)
        answer = leader.offer("north", replace(ours, stages=(*ours.stages[:-1], lie)))
        assert refusal_code(answer) == "programme"


def _stranger(leader: Leader, name: str) -> Signer:
    return Signer(name, create_key(leader.world.folder / "strange" / "key.pem"))


def strangers_state_nothing() -> None:
    with world() as leader:
        forged = seal("statement", leader.said("south"), _stranger(leader, "south"))
        said = {**leader.statements, "south": forged}
        answer = leader.offer("north", leader.priced().programme, said)
        assert refusal_code(answer) == "statements"


def strangers_ask_nothing() -> None:
    with world() as leader:
        asked = replace(leader, signer=_stranger(leader, "coordinator"))
        assert refusal_code(asked.join("north")) == "coordinator"


def the_strictest_tag_counts() -> None:
    with world() as leader:
        (leader.world.sites["north"].folder / "tags.toml").write_text(
            '[columns]\nage = { tier = "special", reason = "a small village" }\n'
        )
        leader.join_all()
        tagged = leader.priced().population.tagged
        assert tagged.tier_of("age") == Tier.SPECIAL


def the_strictest_budget_counts() -> None:
    with world() as leader:
        (leader.world.sites["north"].folder / "site.toml").write_text(
            "[budget]\nepsilon = 0.5\n"
        )
        leader.join_all()
        assert leader.priced().budget.epsilon == 0.5


def private_numbers_stay_private() -> None:
    with world(neighbours="add-remove", data="units = 180") as leader:
        assert leader.said("north").units is None


def charges_at(leader: Leader, site: str = "north") -> int:
    path = leader.world.sites[site].state / "runs" / RUN / "ledger.jsonl"
    return len(path.read_text().splitlines())


def every_answer_is_charged() -> None:
    with world() as leader:
        query = rounds(leader.opened("north")).next().query.to_bytes()
        answer = answer_from_bytes(leader.world.open_doors["north"](query))
        assert isinstance(answer, Reply)
        assert charges_at(leader) == 1


def a_round_is_answered_in_one_job() -> None:
    with world() as leader:
        query = rounds(leader.opened("north")).next().query.to_bytes()
        leader.world.open_doors["north"](query)
        leader.world.doors()
        leader.statements.clear()
        leader.opened("north")
        again = answer_from_bytes(leader.world.open_doors["north"](query))
        assert isinstance(again, Refusal)
        assert "answered already" in again.reason


def a_sum_is_its_sites_own() -> None:
    with world() as leader:
        query = rounds(leader.opened("north")).next().query
        answer = answer_from_bytes(leader.world.open_doors["north"](query.to_bytes()))
        assert isinstance(answer, Reply)
        keys = {"north": leader.world.signer("north").public}
        check_receipt(query, "north", answer.receipt, answer, keys)
        changed = replace(answer, total=answer.total + 1)
        with pytest.raises(Refused):
            check_receipt(query, "north", answer.receipt, changed, keys)


def a_run_that_cannot_begin_leaves_no_room() -> None:
    with world(test="false") as leader:
        made = leader.world
        name = place_run(made.coordinator, leader.path)

        def refuse(site: str, content: bytes) -> bytes:
            begins = kind_of(content) == "begin"
            return b"lexfed/begin/1\n" if site == "south" and begins else content

        with pytest.raises(Refused):
            drive_epoch(
                made.coordinator, name, Spy(made.doors(), to_site=refuse), SITES
            )
        lasting = LastingLedger.open(made.sites["north"].state / "lasting.ledger")
        kinds = [row.kind for row in lasting.rows()]
        lasting.close()
        assert kinds.count("reserve") == kinds.count("release") == 1


def a_message_of_other_types_costs_nothing() -> None:
    with world() as leader:
        query = rounds(leader.opened("north")).next().query
        number: Any = float(query.round)
        content = replace(query, round=number).to_bytes()
        answer = answer_from_bytes(leader.world.open_doors["north"](content))
        assert isinstance(answer, Refusal)
        assert charges_at(leader) == 0


def a_programme_is_agreed_to_once() -> None:
    with world() as leader:
        programme = leader.opened("north").programme
        leader.join_all()
        nearly = with_sigma(programme, 1.0 + 2**-48)
        assert refusal_code(leader.offer("north", nearly)) == "programme"


def an_epoch_is_entered_once() -> None:
    with world(trust="distributed", privacy='accountant = "rdp"') as leader:
        programme, made = leader.priced().programme, leader.world
        keys = {name: made.signer(name).public for name in made.sites}
        agreed = epoch_settings(programme, LOG, keys, made.signer().public)
        RunState(made.sites["north"], RUN).settings(agreed)(1)
        again = RunState(made.sites["north"], RUN).settings(agreed)
        try:
            again(1)
        except SecAggError:
            return
        raise AssertionError("an epoch was entered twice")


def two_processes_are_told_apart() -> None:
    """The door holds the lock from its first message on."""
    with world() as leader:
        try:
            run_state.SiteLock(leader.world.sites["north"]).close()
        except run_state.SiteBusy:
            return
        raise AssertionError("two processes hold one lock")


# Mutants


def _nothing(*_: object, **__: object) -> None:
    pass


def _is_so(*_: object, **__: object) -> bool:
    return True


def _charges_later(patch: Patch) -> None:
    patch.setattr(SitePurse, "charge", _nothing)


def _own_tags_only(patch: Patch) -> None:
    patch.setattr(agreement, "strictest_tags", lambda tagged, _: tagged)


def _no_limits(patch: Patch) -> None:
    patch.setattr(site_budgets, "budget_within_limits", lambda budget, _: budget)


def _every_epoch(patch: Patch) -> None:
    def broken(_: RunState, agreed: Any) -> Any:
        return agreed

    patch.setattr(RunState, "settings", broken)


MUTANTS = (
    Mutant(
        "nobody asks the people of a site",
        lambda patch: patch.setattr(consent, "has_consent", _is_so),
        nobody_is_asked_without_consent,
    ),
    Mutant(
        "one consent serves every run",
        lambda patch: patch.setattr(consent, "take_consent", _nothing),
        a_consent_is_for_one_run,
    ),
    Mutant(
        "the classes of a model are not counted",
        lambda patch: patch.setattr(
            bundle,
            "network_weights",
            lambda model, slots, _: network_weights(model, slots),
        ),
        a_model_of_too_many_classes_is_refused,
    ),
    Mutant(
        "a site believes the coordinator's programme",
        lambda patch: patch.setattr(enrolment, "first_difference", lambda *_: ""),
        another_programme_is_refused,
    ),
    Mutant(
        "statements are not checked",
        lambda patch: patch.setattr(SignedEnvelope, "verify", _nothing),
        strangers_state_nothing,
    ),
    Mutant(
        "the coordinator's signature is not checked",
        lambda patch: patch.setattr(SignedEnvelope, "verify", _nothing),
        strangers_ask_nothing,
    ),
    Mutant("tags of sites do not count", _own_tags_only, the_strictest_tag_counts),
    Mutant("limits of sites do not count", _no_limits, the_strictest_budget_counts),
    Mutant(
        "numbers of persons are always told",
        lambda patch: patch.setattr(site_statements, "may_count", _is_so),
        private_numbers_stay_private,
    ),
    Mutant("answers are free", _charges_later, every_answer_is_charged),
    Mutant(
        "a site forgets what it answered",
        lambda patch: patch.setattr(RunState, "answered", lambda *_: NOWHERE),
        a_round_is_answered_in_one_job,
    ),
    Mutant(
        "a programme can be swapped on the way",
        lambda patch: patch.setattr(RunState, "keep", _is_so),
        a_programme_is_agreed_to_once,
    ),
    Mutant(
        "a message may hold any type",
        lambda patch: patch.setattr(
            messages._QueryHead, "model_validate", lambda head: SimpleNamespace(**head)
        ),
        a_message_of_other_types_costs_nothing,
    ),
    Mutant(
        "nobody signs a sum",
        lambda patch: patch.setattr(receipts, "answer_digest", lambda *_: "0" * 64),
        a_sum_is_its_sites_own,
    ),
    Mutant(
        "nobody gives back the room of a run that did not begin",
        lambda patch: patch.setattr(epoch_driver._Participants, "end", _nothing),
        a_run_that_cannot_begin_leaves_no_room,
    ),
    Mutant("an epoch is entered again", _every_epoch, an_epoch_is_entered_once),
    Mutant(
        "nobody holds the lock",
        lambda patch: patch.setattr(fcntl, "flock", _nothing),
        two_processes_are_told_apart,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
