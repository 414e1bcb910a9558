# SPDX-License-Identifier: Apache-2.0
"""Empirical epsilon: lower bounds from attacks on the product's own sites.

    game                 a programme runs on canaries, an attacker scores every coin
    claim_audit          a lower bound beside every claim of a run; start here
    one_run_bounds       the confidence that correct guesses give, with proofs

Lower bounds catch defects; they certify nothing. The number of guesses and the number
of canaries in a game are fixed before any game is played, and must stay so: the bounds
hold for no other choice. No audit reads a row of data.
"""

from lexfed.evaluate.empirical.claim_audit import ClaimAudit, audit

__all__ = ["ClaimAudit", "audit"]
