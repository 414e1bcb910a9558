# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on epsilon, with confidence, from correct guesses about canaries.

A fair coin is flipped for each of m canaries, the mechanism runs, and an attacker who
sees its output guesses r of the coins. **One run** is enough, because all canaries are
tried at once [SNJ23].

**Any mechanism.** If it is (epsilon, delta)-private for every single coin, the number V
of correct guesses obeys, with p = e^epsilon / (1 + e^epsilon) and B ~ Bin(r, p),

    P[V >= v] <= P[B >= v] + 2 m delta max_{1<=i<=v} (P[B >= v-i] - P[B >= v]) / i

[SNJ23]. Guesses may depend on each other and on all of the output, but r must
be fixed beforehand.

**A trade-off function** says more than one pair (epsilon, delta) [DRS22]. Let g(x) be
the most probable an event can be under one coin if its probability under the other is
x, a concave increasing function; for mu-GDP g(x) = Phi(Phi^-1(x) + mu). Write p_i for
the probability of exactly i correct guesses and

    R_i = sum_{j>=i} j p_j / m,    W_i = sum_{j>=i} (r - j) p_j / m.

Turn one coin over: a correct guess becomes a wrong one and the count falls by one. So
for every canary P[it is guessed, rightly, count > i] <= g(P[guessed, wrongly, count
>= i]); the mean over canaries and the concavity of g give

    R_{i+1} <= g(W_i)                                              [MMC25].

Suppose P[V >= v] >= tau. Then R_v >= tau v / m and R_v + W_v >= tau r / m, and going
down W_i >= max(W_{i+1}, g^-1(R_{i+1})), R_i = R_{i+1} + i (W_i - W_{i+1}) / (r - i).
R_0 is a sum of the W_i with coefficients that are not negative, so putting the least
for each gives the least of R_0 + W_0. That must be r / m: if it is more, tau was too
large. []

Both bounds are wrong with probability at most 1 - confidence, whatever the mechanism.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from lexfed import checks

_FINEST, _LARGEST = 1e-4, 32.0
"""Bounds are found to this precision, and are not told apart above this."""


def one_run(
    guesses: int, correct: int, m: int, delta: float, confidence: float = 0.95
) -> float:
    """Return a lower bound on epsilon of any mechanism, from guesses in one run.

    The number of coins guessed, of `m` canaries, was fixed beforehand; `delta` is that
    of the claim that the bound is compared with.

    Guarantees:
        Above the epsilon of an (epsilon, delta)-private mechanism with probability at
        most 1 - confidence.
        0 where the guesses are no better than those of coins.
    """
    _check(guesses, correct, m, confidence)
    checks.in_range(0.0, 1.0, delta=delta)

    def refuted(epsilon: float) -> bool:
        p = 1.0 / (1.0 + math.exp(-epsilon))
        # P[B >= v-i] for i = 0..v.
        tails = binom.sf(np.arange(correct - 1, -2, -1), guesses, p)
        beta, alpha = float(tails[0]), 0.0
        if correct > 0 and delta > 0.0:
            alpha = float(np.max((tails[1:] - beta) / np.arange(1, correct + 1)))
        return beta + 2.0 * m * delta * alpha <= 1.0 - confidence

    return _largest(refuted)


def one_run_mu(guesses: int, correct: int, m: int, confidence: float = 0.95) -> float:
    """Return a lower bound on mu of a Gaussian mechanism, from guesses in one run.

    Guarantees:
        Above mu of a mu-GDP mechanism with probability at most 1 - confidence.
        0 where the guesses are no better than those of coins.
    """
    _check(guesses, correct, m, confidence)

    def refuted(mu: float) -> bool:
        right = (1.0 - confidence) * correct / m
        wrong = (1.0 - confidence) * (guesses - correct) / m
        for i in range(correct - 1, -1, -1):
            before = wrong
            wrong = max(before, float(ndtr(ndtri(min(right, 1.0)) - mu)))
            right += i / (guesses - i) * (wrong - before)
            if right + wrong > guesses / m:
                return True
        return right + wrong > guesses / m

    return _largest(refuted)


def _check(guesses: int, correct: int, m: int, confidence: float) -> None:
    checks.in_range(1, 2**40, m=m)
    checks.in_range(1, m, guesses=guesses)
    checks.in_range(0, guesses, correct=correct)
    checks.in_range(0.5, 1.0, confidence=confidence)


def _largest(refuted: Callable[[float], bool]) -> float:
    """Return the largest parameter that is refuted, rounded down; 0 if none is."""
    if not refuted(_FINEST):
        return 0.0
    low, high = _FINEST, _LARGEST
    while high - low > _FINEST:
        middle = (low + high) / 2.0
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low
