# SPDX-License-Identifier: Apache-2.0
"""Mutants of paying for a joining; written like `test_paying_mutants`."""

from lexfed.errors import Refused
from lexfed.ledger.purse import LedgerPlace
from lexfed.privacy.releases import Release
from lexfed.randomness import RandomSource
from lexfed.run import joining
from lexfed.sketch.joining.keys import PersonKeys
from lexfed.sketch.joining.offered_sketch import OfferedSketch, exact_tables, offer
from lexfed.sketch.joining.terms import JoiningTerms
from support.mutant import Mutant, Patch, both_tests
from support.run import joining_order_checks as checks


def _noise_first(patch: Patch) -> None:
    def broken(
        terms: JoiningTerms,
        people: PersonKeys,
        purse: LedgerPlace | None,
        source: RandomSource,
    ) -> OfferedSketch:
        made = offer(terms, exact_tables(terms, people), source)
        joining.charge_joining(purse, terms.noise.event(terms.width))
        return made

    patch.setattr(joining, "make_offer", broken)


def _paid_unseen(patch: Patch) -> None:
    def broken(
        terms: JoiningTerms,
        people: PersonKeys,
        purse: LedgerPlace | None,
        source: RandomSource,
    ) -> OfferedSketch:
        joining.charge_joining(purse, terms.noise.event(terms.width))
        return offer(terms, exact_tables(terms, people), source)

    patch.setattr(joining, "make_offer", broken)


def _one_name_for_all(patch: Patch) -> None:
    patch.setattr("lexfed.run.joining.secrets.token_hex", lambda _=16: "00" * 16)


def _never_paid(patch: Patch) -> None:
    def broken(_purse: LedgerPlace | None, _event: Release) -> None:
        return

    patch.setattr(joining, "charge_joining", broken)


MUTANTS = (
    Mutant(
        "noise drawn before it is paid", _noise_first, checks.paid_before_noise_is_drawn
    ),
    Mutant(
        "paid before people are looked at",
        _paid_unseen,
        checks.nothing_paid_for_people_that_do_not_fit,
    ),
    Mutant(
        "a second sketch as the first again",
        _one_name_for_all,
        checks.every_sketch_is_paid,
        (Refused,),
    ),
    Mutant("never paid", _never_paid, checks.every_sketch_is_paid, (Exception,)),
)

test_the_real_code_passes, test_a_mutant_is_caught = both_tests(MUTANTS)
