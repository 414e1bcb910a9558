# SPDX-License-Identifier: Apache-2.0
"""Ways to get the purse wrong, each noticed by a check that the real one passes."""

from typing import Any

import pytest

from lexfed.errors import Refused
from lexfed.federation.programme.messages import Query
from lexfed.federation.site.data_holder import Site
from lexfed.ledger.charging import LastingLedger
from lexfed.ledger.purse import ChargeTerms, Purse, SitePurse
from lexfed.privacy.releases import Release
from lexfed.run.driver.site_accounts import SiteAccounts
from support.ledger import purse_checks as checks
from support.mutant import NOTICED, Mutant, Patch, both_tests


def _own_first(patch: Patch) -> None:
    def broken(self: SitePurse, release: Release) -> None:
        number = len(self._own.events()) + 1
        self._own.charge(release)
        if self._lasting is not None:
            self._lasting.pay(number, release)

    patch.setattr(SitePurse, "charge", broken)


def _lasting_left_out(patch: Patch) -> None:
    patch.setattr(SitePurse, "_charge_lasting", lambda *_: None)


def _own_left_out(patch: Patch) -> None:
    def broken(self: SitePurse, release: Release) -> None:
        if self._lasting is not None:
            self._charge_lasting(self._lasting, release)

    patch.setattr(SitePurse, "charge", broken)


def _payments_forgotten(patch: Patch) -> None:
    real = Purse.pay

    def broken(self: Purse, *arguments: Any, **words: Any) -> None:
        self._paid = None
        real(self, *arguments, **words)

    patch.setattr(Purse, "pay", broken)


def _any_payment_will_do(patch: Patch) -> None:
    real = Purse.pay

    def broken(self: Purse, number: int, release: Release, **words: Any) -> None:
        if self._paid is None or self._paid[0] != number:
            real(self, number, release, **words)

    patch.setattr(Purse, "pay", broken)


def _payments_remembered_for_ever(patch: Patch) -> None:
    def broken(self: Purse, number: int) -> None:
        self.ledger.publish(self.terms.run, number)

    patch.setattr(Purse, "publish", broken)


def _no_look_before(patch: Patch) -> None:
    def broken(self: SitePurse, lasting: Purse, release: Release) -> None:
        lasting.pay(self._number(lasting), release)

    patch.setattr(SitePurse, "_charge_lasting", broken)


def _left_out_rounds_paid_again(patch: Patch) -> None:
    def broken(self: SitePurse, lasting: Purse, release: Release) -> None:
        lasting.pay(self._number(lasting), release)

    patch.setattr(SitePurse, "_charge_lasting", broken)


def _never_settled(patch: Patch) -> None:
    patch.setattr(SitePurse, "_settle", lambda *_: None)


def _settled_by_count(patch: Patch) -> None:
    """The run's ledger believes whatever the lasting one says."""

    def broken(self: SitePurse, lasting: Purse) -> None:
        missing = len(lasting.rounds().paid) - len(self._own.events())
        for _ in range(missing):
            self._own.charge(checks.ROUND)

    patch.setattr(SitePurse, "_settle", broken)


def _pending_after_the_charge(patch: Patch) -> None:
    real = SitePurse._keep_pending
    late: list[Any] = []

    def broken(self: SitePurse, pending: Any) -> None:
        late.append(pending)

    def charge(self: SitePurse, release: Release) -> None:
        charged(self, release)
        real(self, late.pop())

    charged = SitePurse.charge
    patch.setattr(SitePurse, "_keep_pending", broken)
    patch.setattr(SitePurse, "charge", charge)


def _old_copies_welcome(patch: Patch) -> None:
    patch.setattr(SitePurse, "catch_up", lambda _: None)


def _rounds_ahead_charged_at_will(patch: Patch) -> None:
    nothing = property(lambda _: 0, lambda *_: None)
    patch.setattr(SitePurse, "_last", nothing, raising=False)


def _open_rounds_for_everybody(patch: Patch) -> None:
    real = LastingLedger._require_open

    def broken(*given: Any, same: bool, again: bool) -> None:
        real(*given, same=same, again=True)

    patch.setattr(LastingLedger, "_require_open", broken)


def _interrupted_rounds_for_free(patch: Patch) -> None:
    real = Site._unpaid

    def broken(self: Site, query: Query, ledger: Any) -> Any:
        self._every_answer = False
        return real(self, query, ledger)

    patch.setattr(Site, "_unpaid", broken)


def _one_site_is_enough(patch: Patch) -> None:
    patch.setattr(ChargeTerms, "per_person", lambda _, release: release)


def _records_whatever_the_unit(patch: Patch) -> None:
    real = LastingLedger.commit

    def broken(self: LastingLedger, *arguments: Any, **words: Any) -> int:
        run, number, release, _ = arguments
        return real(self, run, number, release, "record", **words)

    patch.setattr(LastingLedger, "commit", broken)


def _charged_after_the_release(patch: Patch) -> None:
    """Sites answer first; the ledgers are charged when the round may leave."""
    commit, publish = SiteAccounts.commit, SiteAccounts.publish

    def late(self: SiteAccounts, query: Query) -> None:
        commit(self, query)
        publish(self, query)

    patch.setattr(SiteAccounts, "commit", lambda *_: None)
    patch.setattr(SiteAccounts, "publish", late)
    _lasting_left_out(patch)


MUTANTS = (
    Mutant("the run's ledger first", _own_first, checks.lasting_is_charged_first),
    Mutant(
        "the lasting ledger left out",
        _lasting_left_out,
        checks.lasting_is_charged_first,
    ),
    Mutant(
        "the run's ledger left out", _own_left_out, checks.each_ledger_is_charged_once
    ),
    Mutant(
        "a round committed twice",
        _payments_forgotten,
        checks.each_ledger_is_charged_once,
    ),
    Mutant(
        "a round of a run committed twice",
        _payments_forgotten,
        checks.a_run_pays_each_round_once_before_anybody_computes,
    ),
    Mutant(
        "another release under what was paid ahead",
        _any_payment_will_do,
        checks.a_site_pays_whatever_was_paid_ahead,
    ),
    Mutant(
        "a site that relies on what was paid ahead",
        _lasting_left_out,
        checks.a_site_pays_whatever_was_paid_ahead,
    ),
    Mutant(
        "a round that coins left a site out of is paid again",
        _left_out_rounds_paid_again,
        checks.rounds_that_coins_left_out_are_charged_later,
        Refused,
    ),
    Mutant(
        "a payment remembered beyond the release",
        _payments_remembered_for_ever,
        checks.published_rounds_are_not_given_again,
    ),
    Mutant(
        "charged without a look at the run's room",
        _no_look_before,
        checks.no_room_in_the_run_charges_neither,
    ),
    Mutant(
        "a failed charge lent to the next release",
        _never_settled,
        checks.a_failed_second_charge_stays_paid,
        (*NOTICED, Refused),
    ),
    Mutant(
        "a death in between taken for an old copy",
        _never_settled,
        checks.a_death_between_the_two_stays_paid,
        (*NOTICED, Refused),
    ),
    Mutant(
        "the pending charge kept too late",
        _pending_after_the_charge,
        checks.a_death_between_the_two_stays_paid,
        (*NOTICED, Refused),
    ),
    Mutant(
        "an old copy taken for a death in between",
        _settled_by_count,
        checks.older_copies_pay_for_nothing,
    ),
    Mutant(
        "old copies welcome", _old_copies_welcome, checks.older_copies_pay_for_nothing
    ),
    Mutant(
        "what was forgotten is free",
        _old_copies_welcome,
        checks.what_the_lasting_ledger_forgot_is_paid_again,
    ),
    Mutant(
        "a charge that was begun is forgotten",
        _never_settled,
        checks.a_charge_that_was_begun_is_believed,
    ),
    Mutant(
        "copies that lack two charges",
        _never_settled,
        checks.a_copy_that_lacks_two_charges_is_refused,
        (*NOTICED, pytest.fail.Exception),
    ),
    Mutant(
        "two releases of a round paid ahead",
        _rounds_ahead_charged_at_will,
        checks.a_round_paid_ahead_is_charged_once,
        (*NOTICED, pytest.fail.Exception),
    ),
    Mutant(
        "a round that somebody holds open is closed",
        _open_rounds_for_everybody,
        checks.a_round_held_open_is_not_closed_by_another,
        (*NOTICED, pytest.fail.Exception),
    ),
    Mutant(
        "a second answer under one charge",
        _interrupted_rounds_for_free,
        checks.a_client_elsewhere_answers_a_round_once,
    ),
    Mutant(
        "a person pays for one site",
        _one_site_is_enough,
        checks.unit_and_relation_go_with_every_charge,
    ),
    Mutant(
        "the unit left out",
        _records_whatever_the_unit,
        checks.unit_and_relation_go_with_every_charge,
    ),
    Mutant(
        "charged after the release",
        _charged_after_the_release,
        checks.a_run_pays_each_round_once_before_anybody_computes,
    ),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
