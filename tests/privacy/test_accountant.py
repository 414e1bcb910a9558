# SPDX-License-Identifier: Apache-2.0
"""One conformance suite for three accountants; none of them ever under-reports."""

import math
import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from lexfed.privacy.accountants import composition, gdp
from lexfed.privacy.accountants.composition import delta, epsilon
from lexfed.privacy.accountants.gdp import Step
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.terms import Accountant, Neighbours

Reference = Callable[[Sequence[Step], float, Neighbours], float]
RELATIONS: list[Neighbours] = ["add-remove", "replace-one"]


@pytest.mark.parametrize("neighbours", RELATIONS)
class AccountantSuite:
    """What every accountant promises; subclasses name the accountant."""

    name: Accountant
    rates: tuple[float, ...]

    def steps(self, count: int = 5) -> list[Step]:
        return [Step(2.0, rate, count) for rate in self.rates]

    def test_nothing_costs_nothing(self, neighbours: Neighbours) -> None:
        for steps in ([], [Step(math.inf)], [Step(1.0, 0.0)], [Step(1.0, 1.0, 0)]):
            assert epsilon(steps, 1e-6, neighbours, self.name) == 0.0
            assert delta(steps, 0.0, neighbours, self.name) == 0.0

    def test_delta_at_the_ends(self, neighbours: Neighbours) -> None:
        assert epsilon(self.steps(), 1.0, neighbours, self.name) == 0.0
        assert epsilon(self.steps(), 0.0, neighbours, self.name) == math.inf

    def test_order_does_not_matter(self, neighbours: Neighbours) -> None:
        steps = [*self.steps(), *self.steps(3), Step(7.0)]
        forwards = epsilon(steps, 1e-6, neighbours, self.name)
        assert epsilon(steps[::-1], 1e-6, neighbours, self.name) == forwards

    def test_more_noise_fewer_steps_larger_delta_cost_less(
        self, neighbours: Neighbours
    ) -> None:
        def price(factor: float, count: int, at: float) -> float:
            steps = [Step(factor * 2.0, rate, count) for rate in self.rates]
            return epsilon(steps, at, neighbours, self.name)

        base = price(1.0, 5, 1e-6)
        assert price(1.2, 5, 1e-6) < base
        assert price(1.0, 4, 1e-6) < base
        assert price(1.0, 5, 1e-5) < base

    def test_epsilon_and_delta_are_inverse(self, neighbours: Neighbours) -> None:
        value = epsilon(self.steps(), 1e-5, neighbours, self.name)
        back = delta(self.steps(), value, neighbours, self.name)
        assert back == pytest.approx(1e-5, rel=1e-4)

    def test_replacing_costs_more_than_adding(self, neighbours: Neighbours) -> None:
        value = epsilon(self.steps(), 1e-6, neighbours, self.name)
        assert value >= epsilon(self.steps(), 1e-6, "add-remove", self.name)

    def test_never_below_the_exact_value_without_sampling(
        self, neighbours: Neighbours
    ) -> None:
        steps = [Step(3.0, 1.0, 4), Step(9.0, 1.0, 10)]
        mu = math.sqrt(4 / 9 + 10 / 81) * (2 if neighbours == "replace-one" else 1)
        value = epsilon(steps, 1e-6, neighbours, self.name)
        exact = gdp.epsilon_from(mu, 1e-6)
        assert value >= exact * (1 - 1e-12)
        if self.name != "rdp":
            assert value == pytest.approx(exact, rel=1e-9)

    def test_out_of_range_is_refused(self, neighbours: Neighbours) -> None:
        with pytest.raises(ValueError, match="delta"):
            epsilon(self.steps(), -1.0, neighbours, self.name)
        with pytest.raises(ValueError, match="epsilon"):
            delta(self.steps(), -1.0, neighbours, self.name)


class TestGdp(AccountantSuite):
    name: Accountant = "gdp"
    rates = (1.0,)

    def test_sampling_is_refused(self, neighbours: Neighbours) -> None:
        with pytest.raises(ValueError, match="sampling_rate"):
            epsilon([Step(1.0, 0.5)], 1e-6, neighbours, "gdp")


class TestRdp(AccountantSuite):
    name: Accountant = "rdp"
    rates = (0.1, 1.0)


class TestPld(AccountantSuite):
    name: Accountant = "pld"
    rates = (0.1, 1.0)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ValueError, match="accountant"):
        epsilon([], 1e-6, "add-remove", "clt")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="neighbours"):
        epsilon([], 1e-6, "zero-out")  # type: ignore[arg-type]


def test_integer_multipliers_do_not_under_report() -> None:
    # dp-accounting takes an int inside a composed event for the effective multiplier
    # and reports a quarter (bug B1).
    import dp_accounting
    from dp_accounting import rdp as library

    def theirs(first: float) -> float:
        groups = [dp_accounting.GaussianDpEvent(z) for z in (first, 1.0)]
        batch = dp_accounting.ComposedDpEvent(groups)
        accountant = library.RdpAccountant(orders=range(2, 65))
        accountant.compose(dp_accounting.PoissonSampledDpEvent(0.01, batch), 1000)
        return float(accountant.get_epsilon(1e-5))

    groups = (ReleaseGroup("a", 1, 2), ReleaseGroup("b", 1, 1))
    joint = Step(Release("r", groups, 0.01, None, 2).noise_multiplier, 0.01, 1000)
    ours = epsilon([joint], 1e-5, accountant="rdp")
    assert ours == pytest.approx(theirs(2.0), rel=1e-6)
    assert theirs(2) < 0.5 * ours  # if this fails, it was repaired
    assert epsilon([Step(2, 0.01, 9)], 1e-5) == epsilon([Step(2.0, 0.01, 9)], 1e-5)


def test_groups_of_one_batch_cost_more_than_separate_more_than_the_largest() -> None:
    # The two wrong rules, on random groups: sum of separate accountants, and maximum.
    rng = np.random.default_rng(1)
    for _ in range(3):
        shifts = rng.uniform(0.3, 1.0, size=3)
        rate, count = 0.02, 200
        joint = [Step(1 / math.sqrt(float(shifts @ shifts)), rate, count)]
        separate = [Step(1 / float(shift), rate, count) for shift in shifts]
        largest = [Step(1 / float(shifts.max()), rate, count)]
        costs = [epsilon(steps, 1e-5) for steps in (joint, separate, largest)]
        assert costs[0] > costs[1] > costs[2]


def test_published_values() -> None:
    # dp-accounting and prv-accountant agree on these to 1e-4.
    for step, at, value in [
        (Step(1.0, 0.01, 1000), 1e-5, 1.8282),
        (Step(2.0, 0.05, 2000), 1e-5, 5.4717),
        (Step(4.0, 0.2, 500), 1e-6, 5.7442),
        (Step(0.8, 0.001, 5000), 1e-6, 0.7336),
    ]:
        assert value - 1e-4 <= epsilon([step], at) <= value * 1.003


def test_tiny_delta_falls_back_to_renyi() -> None:
    # The convolutions' floats are worth 1e-14 and more; see `pld`.
    steps = [Step(1.0, 0.01, 1000)]
    assert epsilon(steps, 1e-13) == epsilon(steps, 1e-13, accountant="rdp")
    assert epsilon(steps, 1e-10) < epsilon(steps, 1e-10, accountant="rdp")


def test_floats_of_the_library_are_covered() -> None:
    # At delta 1e-12 the library alone is below the exact value by 17 %; the delta
    # that is taken off covers it.
    mu = math.sqrt(2000) / 50.0
    width = composition.discretisation([Step(50.0, 1.0, 2000)], "add-remove")
    loss = composition._single(50.0, 1.0, width, "add-remove").self_compose(2000)
    for target in (1e-11, 1e-12):
        exact = gdp.epsilon_from(mu, target)
        found = float(loss.get_delta_for_epsilon(exact))
        assert found + 3 * composition.NUMERICAL_DELTA >= target


@pytest.mark.parametrize(
    "step", [Step(0.1, 0.01, 3), Step(1e4, 0.5, 10), Step(1.0, 1e-7, 10)]
)
def test_extremes_stay_finite_and_below_renyi(step: Step) -> None:
    value = epsilon([step], 1e-6)
    assert 0.0 <= value <= epsilon([step], 1e-6, accountant="rdp")


@pytest.mark.no_cover
def test_many_levels_are_not_far_from_the_truth() -> None:
    multipliers = np.geomspace(1.0, 4.0, 2000)
    rounded = epsilon([Step(float(z), 0.02) for z in multipliers], 1e-5)
    # Twenty levels, each the largest of its band, are below the truth.
    below = [Step(float(band[-1]), 0.02, 100) for band in multipliers.reshape(20, 100)]
    assert epsilon(below, 1e-5) < rounded < epsilon(below, 1e-5) * 1.08


def random_steps(rng: random.Random, most: int) -> list[Step]:
    levels = rng.choice([1, 1, 1, 2, 2, 3, 5, most])
    rate = rng.choice([0.005, 0.01, 0.05, 0.1, 0.3, 0.7])
    base = math.exp(rng.uniform(math.log(0.8), math.log(20.0)))
    ratio = rng.uniform(1.0, 4.0)
    steps = [
        Step(
            base * ratio ** (level / levels),
            rate if rng.random() < 0.8 else rng.uniform(0.01, 0.9),
            rng.randint(1, 200),
        )
        for level in range(levels)
    ]
    if rng.random() < 0.3:
        steps.append(Step(base * 10.0, 1.0, rng.randint(1, 20)))
    return steps


def never_under_reports(seed: int, reference: Reference, most: int = 20) -> None:
    rng = random.Random(seed)
    steps = random_steps(rng, most)
    at = rng.choice([1e-7, 1e-6, 1e-5])
    neighbours = rng.choice(RELATIONS)
    truth = reference(steps, at, neighbours)
    ours = epsilon(steps, at, neighbours)
    assert truth * (1 - 1e-9) <= ours <= truth * 1.01, (seed, steps, ours / truth)
    assert ours <= epsilon(steps, at, neighbours, "rdp")


SLOW = (pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 30))


@pytest.mark.no_cover
@pytest.mark.parametrize("seed", [*range(10), *SLOW])
def test_never_under_reports(seed: int, reference: Reference) -> None:
    never_under_reports(seed, reference, most=3)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("block", range(9))
def test_never_under_reports_on_many(block: int, reference: Reference) -> None:
    for seed in range(30 * (block + 1), 30 * (block + 2)):
        never_under_reports(seed, reference)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("seed", range(6))
def test_between_the_lower_bound_of_another_accountant_and_renyi(seed: int) -> None:
    from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant

    rng = random.Random(seed)
    step = Step(rng.uniform(0.8, 4.0), rng.uniform(0.01, 0.3), rng.randint(50, 800))
    other = PRVAccountant(
        prvs=[
            PoissonSubsampledGaussianMechanism(
                sampling_probability=step.sampling_rate,
                noise_multiplier=step.noise_multiplier,
            )
        ],
        max_self_compositions=[step.count],
        eps_error=0.02,
        delta_error=1e-10,
    )
    low, _, high = other.compute_epsilon(delta=1e-6, num_self_compositions=[step.count])
    assert (
        low
        <= epsilon([step], 1e-6)
        <= min(high + 0.02, epsilon([step], 1e-6, accountant="rdp"))
    )
