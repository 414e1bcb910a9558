# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on epsilon beside every claim of a run, from canaries and their coins.

docs/theory/empirical.md says how claims are attacked. Each canary is in one game only,
and games have noise of their own, so all games together are one mechanism that is as
private for each coin as one run is: the bounds of `one_run_bounds` hold for the lot.

**How many at once.** Canaries in one game are noise to each other. N of them in random
directions of a tower with d parameters add N m^2/d to the variance 1 of the noise, if a
coin moves its release by ±m deviations. N is chosen so that this is at most 1/16 in
every tower, also in those that must not see the coin at all: a leak into a quiet tower
is to stand out there. Where even d/4 would be too many, d/4 are taken: directions so
few are nearly orthogonal, and the attack tells them apart. All of it follows from the
plan.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lexfed.arrays import Bools, Floats
from lexfed.errors import ConfigError, Problem
from lexfed.evaluate.empirical.game import Arena
from lexfed.evaluate.empirical.one_run_bounds import one_run, one_run_mu
from lexfed.federation.site.data_holder import Sources
from lexfed.privacy.accountants import gdp
from lexfed.privacy.claim.schema import Claim
from lexfed.randomness import RandomSource, SecureSource, bernoulli
from lexfed.run import PricedRun
from lexfed.terms import TierName
from lexfed.tiers import Tier

RECORD = "record"
CANARIES = 5000
CONFIDENCE = 0.95
GUESSED = 0.2
CROWDING = 1.0 / 16.0
"""Most that other canaries may add to the variance of the noise."""

MOST = 256
"""Canaries in one game: the attack solves for all of them at once."""

OnGame = Callable[[str, int, int], None]
"""Takes the claim, the canaries that have had their coin, and how many there are."""


@dataclass(frozen=True)
class ClaimAudit:
    """The result of an audit of one claim.

    Attributes:
        claim: `record`, or the name of a tier.
        neighbours: the relation of the coin's two sides.
        one_run: lower bound on epsilon of any mechanism.
        gaussian: lower bound where the trade-off curve is proven to be a Gaussian's.
    """

    claim: str
    neighbours: str
    epsilon: float
    delta: float
    canaries: int
    guesses: int
    correct: int
    one_run: float
    gaussian: float | None

    @property
    def lower(self) -> float:
        """The larger of the lower bounds."""
        return max(self.one_run, self.gaussian or 0.0)

    @property
    def refuted(self) -> bool:
        """True if the lower bound is above the claim."""
        return self.lower > self.epsilon


def secure_generator(_: str) -> RandomSource:
    """Return random bits for any purpose: nobody can repeat an audit's coins."""
    return SecureSource()


def audit(
    priced: PricedRun,
    canaries: int = CANARIES,
    *,
    only: Sequence[str] = (),
    confidence: float = CONFIDENCE,
    sources: Sources = secure_generator,
    on_game: OnGame | None = None,
) -> tuple[ClaimAudit, ...]:
    """Attack the claims of a priced run through its own sites and coordinator.

    Nothing of the run's budget is spent, and none of its rows is read. Each claim that
    is named in `only` (all by default) has so many `canaries`. The `confidence` is that
    no bound of all that are returned is above the truth.

    Raises:
        ConfigError: if nothing is claimed, or the unit is no person.
    """
    claim = _claim(priced)
    wanted = [name for name in (None, *claim.tiers) if not only or _word(name) in only]
    # Two bounds for each claim, and all of them are to hold.
    error = (1.0 - confidence) / (2 * len(wanted))
    return tuple(
        _audited(priced, claim, name, canaries, 1.0 - error, sources, on_game)
        for name in wanted
    )


def _claim(priced: PricedRun) -> Claim:
    claim = priced.claim(priced.programme.rounds)
    if claim is None:
        what = "without privacy nothing is claimed, so there is nothing to audit"
        hint = "choose `cascade`, `grouped` or `uniform`"
        raise ConfigError([Problem("`privacy.mechanism`", what, hint)])
    if claim.unit == "client":
        what = "canaries are synthetic people, and the claim is about whole sites"
        raise ConfigError([Problem("`budget.unit`", what, 'audit `unit = "record"`')])
    return claim


def _audited(
    priced: PricedRun,
    claim: Claim,
    name: TierName | None,
    canaries: int,
    confidence: float,
    sources: Sources,
    on_game: OnGame | None,
) -> ClaimAudit:
    tier = None if name is None else Tier.parse(name)
    relation = claim.neighbours if tier is None else "attribute"
    games = []
    for game in _games(priced, tier, relation, canaries, sources):
        games.append(game)
        if on_game is not None:
            done = sum(len(coins) for coins, _ in games)
            on_game(_word(name), done, canaries)
    coins, scores = (np.concatenate(part) for part in zip(*games, strict=True))
    guesses, correct = count_guesses(coins, scores)
    stated = claim if name is None else claim.tiers[name]
    gaussian, programme = None, priced.programme
    # Only then the proven trade-off curve of a run is that of one Gaussian.
    if programme.guarantee == "envelope" and all(
        release.noise == "gaussian" and release.sampling_rate == 1.0
        for release, _ in programme.charges()
    ):
        mu = one_run_mu(guesses, correct, canaries, confidence)
        gaussian = gdp.epsilon_from(mu, stated.delta)
    return ClaimAudit(
        claim=_word(name),
        neighbours=relation,
        epsilon=stated.epsilon,
        delta=stated.delta,
        canaries=canaries,
        guesses=guesses,
        correct=correct,
        one_run=one_run(guesses, correct, canaries, stated.delta, confidence),
        gaussian=gaussian,
    )


def _word(name: TierName | None) -> str:
    return RECORD if name is None else name


def _games(
    priced: PricedRun, tier: Tier | None, relation: str, canaries: int, sources: Sources
) -> Iterator[tuple[Bools, Floats]]:
    """Play until all canaries have had their coin; yield coins and scores."""
    arena = Arena(priced)
    together = canaries_per_game(priced)
    for game, start in enumerate(range(0, canaries, together)):
        own = f"{RECORD if tier is None else tier.label}/{game}"

        def of_game(purpose: str, own: str = own) -> RandomSource:
            return sources(f"{own}/{purpose}")

        persons = min(together, canaries - start)
        generator = np.random.default_rng(of_game("values").words(1))
        if relation == "add-remove":
            made = arena.stock.in_or_out(persons, generator)
        else:
            made = arena.stock.replaced(persons, generator, tier)
        coins = bernoulli(of_game("canaries"), 0.5, persons)
        yield coins, arena.play(made, coins, of_game)


def canaries_per_game(priced: PricedRun) -> int:
    """Return the number of canaries in one game, from the plan alone."""
    sites = priced.budget.sites_per_person
    widest, least = 1, float(MOST)
    for stage in priced.programme.stages:
        # One number for all, as a label rate is, tells nobody apart anyway.
        if stage.dimension == 1:
            continue
        moves = math.fsum(
            (sites * release.sampling_rate / release.noise_multiplier) ** 2
            for release in stage.releases
            if release is not None
        )
        widest = max(widest, stage.dimension)
        if moves > 0.0:
            least = min(least, CROWDING * stage.dimension / moves)
    together = max(1, widest // 4, int(least))
    return min(together, MOST, priced.population.units)


def count_guesses(coins: Bools, scores: Floats) -> tuple[int, int]:
    """Return the number of coins guessed from scores, and of those guessed rightly."""
    side = max(1, round(len(coins) * GUESSED / 2.0))
    order = np.argsort(scores, kind="stable")
    right = int((~coins[order[:side]]).sum() + coins[order[-side:]].sum())
    return 2 * side, right
