# SPDX-License-Identifier: Apache-2.0
"""Empirical epsilon: what attacks on the product's own sites and coordinator find.

    one_run     what correct guesses prove, with confidence
    canaries    persons who might exist, and of whom a coin decides what a site holds
    game        a programme runs on canaries, and an attacker scores every coin
    audit       a lower bound beside every claim of a run

Lower bounds catch defects; they certify nothing.
"""

from lexfed.evaluate.empirical.audit import Found, audit
from lexfed.evaluate.empirical.one_run import one_run, one_run_mu

__all__ = ["Found", "audit", "one_run", "one_run_mu"]
