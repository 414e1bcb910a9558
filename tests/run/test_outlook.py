# SPDX-License-Identifier: Apache-2.0
"""What limits a result: the cap that binds, and noise, before and after a run."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import lexfed
from lexfed.cli import display
from lexfed.federation.programme.tower_signals import planned_signals, released_signals
from lexfed.models.rule.evidence import ReleasedEvidence
from lexfed.privacy.scopes import record_epsilon
from lexfed.report.dossier import read_run_metrics
from lexfed.run import PricedRun, read_result
from lexfed.run.results.outlook import ResultOutlook, outlook_json, outlook_notes
from lexfed.tiers import Tier
from support.configurations import configuration

PricedOf = Callable[[str], PricedRun]

CAPPED = {"privacy.mechanism": "uniform", "budget.caps.special": 0.4}
RICH = {"budget.epsilon": 30.0, "data.generator.patients": 600}
POOR = {"budget.epsilon": 1e-3}
STEPS = {"federation.learning_rate": 0.5, "federation.rounds": 3}


def priced_at_cap(priced_of: PricedOf, cap: float, **more: object) -> PricedRun:
    return priced_of(configuration({**CAPPED, "budget.caps.special": cap, **more}))


def test_a_cap_that_binds_is_named_with_the_price_of_raising_it(
    priced_of: PricedOf,
) -> None:
    priced = priced_at_cap(priced_of, 0.4)
    found = priced.binding_cap
    assert found is not None
    assert (found.tier, found.cap, found.budget) == (Tier.SPECIAL, 0.4, 3.0)
    claim = priced.claim(priced.programme.rounds)
    assert claim is not None
    # The claim's delta has the sampler's error off, hence a little more.
    assert found.used == pytest.approx(claim.epsilon, rel=0.01)
    # The alternative is what a run at that cap would really use.
    other = priced_at_cap(priced_of, 0.8)
    assert found.raised is not None
    assert found.raised.cap == 0.8
    budget = other.budget
    used = record_epsilon(
        other.programme.charges(), budget.delta, budget.neighbours, "pld"
    )
    assert found.raised.epsilon == pytest.approx(used, rel=1e-6)
    assert found.used < found.raised.epsilon < 3.0
    assert 0.4 < found.raised.noise < 0.6
    [note] = [n for n in outlook_notes(priced) if "record is used" in n]
    assert "the cap on special columns, 0.4 (`budget.caps.special`)" in note
    assert "one part of the model reads all columns; at a cap of 0.8" in note
    assert note in "\n".join(display.opening(priced))
    stated = json.loads(json.dumps(outlook_json(priced)))["cap"]
    assert stated["if_raised"]["noise_ratio"] == found.raised.noise


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"budget.caps.special": 0.4},
        {"privacy.mechanism": "uniform"},
        {"privacy.mechanism": "uniform", "budget.caps.special": 20.0},
        {"privacy.mechanism": "none"},
    ],
)
def test_a_budget_that_is_used_up_needs_no_word(
    changes: dict[str, object], priced_of: PricedOf
) -> None:
    assert priced_of(configuration(changes)).binding_cap is None


def test_a_cap_on_the_first_tower_binds_a_cascade(priced_of: PricedOf) -> None:
    priced = priced_of(configuration({"budget.caps.non_personal": 0.5}))
    found = priced.binding_cap
    assert found is not None
    assert (found.tier, found.whole) == (Tier.NON_PERSONAL, False)
    assert "on which the others build" in found.sentence("x")


def test_the_smallest_of_several_caps_is_named(priced_of: PricedOf) -> None:
    priced = priced_at_cap(priced_of, 0.4, **{"budget.caps.personal": 0.3})
    assert priced.binding_cap is not None
    assert priced.binding_cap.tier is Tier.PERSONAL
    raised = priced.binding_cap.raised
    # Then the other cap binds.
    assert raised is not None
    assert raised.epsilon < priced.binding_cap.used * 0.4 / 0.3 * 1.1


def test_a_cap_that_cannot_be_raised_says_so(priced_of: PricedOf) -> None:
    found = priced_at_cap(priced_of, 0.4).binding_cap
    assert found is not None
    alone = replace(found, raised=None)
    assert alone.sentence("x").endswith("no plan has twice this cap")
    assert alone.to_json()["if_raised"] is None


def test_a_sampled_plan_names_its_cap_too(priced_of: PricedOf) -> None:
    steps = {"federation.sampling_rate": 0.5, **STEPS}
    found = priced_of(configuration({**CAPPED, **steps})).binding_cap
    assert found is not None
    assert found.raised is not None
    assert found.raised.noise < 1.0


def test_signal_over_noise_is_that_of_the_formula(priced_of: PricedOf) -> None:
    for changes in ({}, {"privacy.trust": "local"}, {**STEPS}):
        priced = priced_of(configuration(changes))
        programme = priced.programme
        for tower, signal in enumerate(planned_signals(programme)):
            [stage] = [
                s
                for s in programme.stages
                if s.tower == tower and s.kind in ("residuals", "gradient")
            ]
            squares = 0.0
            for release in filter(None, stage.releases):
                [group] = release.groups
                noise = group.sigma**2 * stage.dimension * programme.loudness()
                squares += (stage.divisor * group.clip) ** 2 / noise
            assert signal.most == pytest.approx(np.sqrt(squares))
            assert signal.expected == pytest.approx(0.15 * signal.most)
            assert signal.noise_decides == (signal.expected < 1.0)


def test_more_records_mean_as_much_more_signal(priced_of: PricedOf) -> None:
    few, many = (
        priced_of(configuration({"data.generator.patients": n, **STEPS}))
        for n in (240, 480)
    )
    pairs = zip(
        planned_signals(few.programme), planned_signals(many.programme), strict=True
    )
    for one, other in pairs:
        assert other.most / one.most == pytest.approx(2.0, rel=0.02)


def test_lost_rounds_are_no_signal(priced_of: PricedOf) -> None:
    programme = priced_of(configuration(STEPS)).programme
    rounds = [
        (place, release)
        for place, stage in enumerate(programme.stages)
        for release in stage.releases
        if release is not None
    ]
    assert released_signals(programme, rounds) == planned_signals(programme)
    less = released_signals(programme, rounds[:-1])[-1].most
    assert less < planned_signals(programme)[-1].most
    assert released_signals(programme, [])[0].most == 0.0


@pytest.mark.parametrize("mechanism", ["cascade", "uniform", "grouped"])
def test_a_plan_says_that_noise_will_decide(
    mechanism: str, priced_of: PricedOf
) -> None:
    priced = priced_of(configuration({**POOR, "privacy.mechanism": mechanism}))
    [note] = outlook_notes(priced)
    assert note.startswith("noise is expected to decide this result")
    assert "times the records would bring it to 1" in note
    assert note in display.plan_table(priced)
    rich = priced_of(configuration({**RICH, "privacy.mechanism": mechanism}))
    assert outlook_notes(rich) == ()
    assert "signal   over noise" in display.plan_table(rich)


def test_without_noise_there_is_nothing_to_say(priced_of: PricedOf) -> None:
    priced = priced_of(configuration({"privacy.mechanism": "none"}))
    assert outlook_notes(priced) == ()
    assert outlook_json(priced) == {"cap": None, "signals": []}
    assert "over noise" not in display.plan_table(priced)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        (POOR, "noise decided this result: what was released cannot be told from"),
        ({**POOR, **STEPS}, "noise must be expected to have decided this result"),
        (RICH, ""),
        ({"privacy.mechanism": "none"}, ""),
    ],
)
def test_a_result_says_whether_noise_decided(
    changes: dict[str, object], verdict: str, tmp_path: Path
) -> None:
    path = tmp_path / "lexfed.toml"
    path.write_text(configuration(changes))
    result = lexfed.train(path)
    assert result.verdict[: len(verdict)] == verdict
    assert bool(result.verdict) == bool(verdict)
    said = "\n".join(display.closing(lexfed.config.load(path), result))
    assert ("  noise    " in said) == bool(verdict)
    assert json.loads((result.folder / "result.json").read_text()) == result.to_json()
    again = read_result(result.folder)
    assert (again.verdict, again.outlook) == (result.verdict, result.outlook)
    # The report shows it before its numbers, and its notes as they are.
    shown = read_run_metrics(result.folder)
    assert shown.verdict == result.verdict
    assert shown.notes[: len(result.notes)] == result.notes


def test_a_part_that_is_noise_is_named(priced_of: PricedOf) -> None:
    priced = priced_of(configuration(RICH))
    signals = planned_signals(priced.programme)
    clear = ReleasedEvidence(whole=500.0, entries=10)
    noise = ReleasedEvidence(whole=9.0, entries=10)
    verdict = ResultOutlook(priced, signals, {0: clear, 1: clear, 2: noise}).verdict
    assert verdict.startswith("what these parts of the model released cannot be told")
    assert verdict.endswith("special (p = 0.53)")
    assert ResultOutlook(priced, signals, {0: clear, 1: clear}).verdict == ""
