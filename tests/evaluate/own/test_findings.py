# SPDX-License-Identifier: Apache-2.0
"""Answers say what figures say, the contrary as plainly, nothing without them."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from lexfed.evaluate.own.findings import findings
from lexfed.evaluate.own.page import INTERNAL, evaluation_html
from lexfed.evaluate.own.questions import (
    ATTRIBUTE,
    AUDIT,
    COST,
    MEMBERSHIP,
    TAILORING,
    Omission,
)
from support.evaluation.own import (
    ATTACK,
    CLAIMED,
    INFERENCE,
    aucs,
    measured,
    summary,
)


def test_the_answers_have_numbers_and_intervals() -> None:
    cost, tailoring, attacks = findings(measured())
    assert cost.headline == "Protection costs 0.021 ± 0.002 of AUC (0.821 to 0.800)."
    assert "together they reach 0.800" in " ".join(cost.details)
    assert tailoring.headline == (
        "Tailoring gains 0.050 ± 0.000 of AUC over uniform noise at equal protection "
        "of the most sensitive tier (ε 0.30 for one value): 0.800 against 0.750."
    )
    assert "a difference of −0.010" in tailoring.details[0]
    assert "ε 4.20 instead of 0.30" in tailoring.details[0]
    assert attacks.headline == (
        "Membership attacks, attribute inference and an audit with canaries did no "
        "better than the proof allows."
    )
    told = " ".join(attacks.details)
    assert "AUC 0.510 (0.500 to 0.520); 0.5 is guessing, the proof allows 0.600" in told
    assert "On 2 columns of the sensitive tier, no attack significantly beats" in told
    assert "the whole record: found at least 0.40, proven 2.00" in told
    assert not any(one.alarm for one in (cost, tailoring, attacks))


def test_a_loss_is_called_a_loss_and_a_spread_a_spread() -> None:
    better = {"uniform-attribute": aucs(0.85, 0.86), "uniform-record": aucs(0.8, 0.8)}
    policy = aucs(0.79, 0.80)
    lost = summary(TAILORING, "configured", configured=policy, **better)
    assert findings(measured(tailoring=lost))[1].headline.startswith(
        "Tailoring loses 0.060 ± 0.000 of AUC"
    )
    wide = summary(COST, "none", none=aucs(0.7, 0.9), configured=aucs(0.8, 0.79))
    assert findings(measured(cost=wide))[0].headline == (
        "The cost of protection is not significant over 2 splits: "
        "0.005 ± 1.334 of AUC (0.800 to 0.795)."
    )
    gain = summary(COST, "none", none=aucs(0.7, 0.71), configured=aucs(0.8, 0.81))
    assert "costs no AUC" in findings(measured(cost=gain))[0].headline


def test_errors_are_lost_the_other_way() -> None:
    worse = [{"rmse": 0.3}, {"rmse": 0.31}]
    cost = summary(COST, "none", none=[{"rmse": 0.2}, {"rmse": 0.21}], configured=worse)
    assert findings(measured(cost=cost))[0].headline == (
        "Protection costs 0.100 ± 0.000 of RMSE (0.205 to 0.305)."
    )


def test_what_contradicts_a_proof_is_said_first() -> None:
    """Of everything that was tried, though what is shown is within its bound."""
    inferred = {**ATTACK, **INFERENCE, "excess": 0.0119}
    cases = {
        MEMBERSHIP: (ATTACK | {"strongest_low": 0.6519}, "at least 0.651, the proof"),
        ATTRIBUTE: (inferred, "by 0.011 or more above what the proof allows"),
        AUDIT: ({**CLAIMED, "refuted": 1.0}, "Canaries find more ε than is proven"),
    }
    for name, (values, words) in cases.items():
        broken = summary(name, "", configured=[values])
        attacks = findings(measured(**{name: broken}))[2]
        assert attacks.alarm
        assert attacks.headline.startswith(
            "AN ATTACK SEEMS TO DO BETTER THAN THE PROOF ALLOWS"
        )
        assert words in attacks.headline
        assert "at most one evaluation of ten" in attacks.details[0]
        assert "Release nothing for now" in attacks.details[0]
        told = " ".join(attacks.details)
        assert ("Who was trained on is guessed with AUC 0.510" in told) or (
            name == MEMBERSHIP
        )


def test_one_end_of_many_above_its_bound_is_no_alarm() -> None:
    """The end that is shown is not corrected for what was tried; `excess` is."""
    shown = {**ATTACK, "low": 0.61, "auc": 0.63, "high": 0.65}
    tables = {
        MEMBERSHIP: summary(MEMBERSHIP, "", configured=[shown]),
        ATTRIBUTE: summary(ATTRIBUTE, "", configured=[{**shown, **INFERENCE}]),
    }
    assert not findings(measured(**tables))[2].alarm


def test_the_headline_names_what_was_tried_and_what_was_not() -> None:
    few = {name: one for name, one in measured().items() if name != MEMBERSHIP}
    assert findings(few)[2].headline == (
        "Attribute inference and an audit with canaries did no better than the proof "
        "allows; not tried: membership attacks."
    )
    del few[ATTRIBUTE]
    assert findings(few)[2].headline == (
        "An audit with canaries did no better than the proof allows; not tried: "
        "membership attacks and attribute inference."
    )
    refused = summary(ATTRIBUTE, "", configured=[{}])
    assert findings({**few, ATTRIBUTE: refused})[2].headline == (
        "An audit with canaries did no better than the proof allows; without a "
        "figure: attribute inference; not tried: membership attacks."
    )


def test_splits_without_a_figure_are_counted_and_left_out_of_both_ends() -> None:
    refused: dict[str, Any] = {}
    free, policy = aucs(0.9, 0.92, 0.94), [*aucs(0.8, 0.82), refused]
    alone = [refused, *aucs(0.7, 0.72)]
    cost = summary(COST, "none", none=free, configured=policy, local=alone)
    found = findings(measured(cost=cost))[0]
    assert found.headline == (
        "Protection costs 0.100 ± 0.000 of AUC (0.910 to 0.810; 2 of 3 splits)."
    )
    told = " ".join(found.details)
    assert "is left (2 of 3 splits)." in told
    assert "reaches 0.700; together they reach 0.820 (1 of 3 splits)." in told
    assert (
        "The configured policy has no figure in 1 of 3: refused: too few rows." in told
    )
    strict, loose = aucs(0.7, 0.72, 0.9), aucs(0.8, 0.8, 0.9)
    uniform = {"uniform-attribute": strict, "uniform-record": loose}
    tailoring = summary(TAILORING, "configured", configured=policy, **uniform)
    found = findings(measured(tailoring=tailoring))[1]
    assert found.headline.endswith("0.810 against 0.710; 2 of 3 splits.")
    assert "uniform noise reaches 0.800, a difference of" in found.details[0]
    assert "(2 of 3 splits)" in found.details[0]
    assert "Tailored noise has no figure in 1 of 3" in found.details[1]
    page = evaluation_html("x", [cost], [], "a machine")
    assert "the configured policy (2 of 3 splits)" in page
    assert "Mean over 3 splits, or as many as a line says, with" in page


def test_methods_that_share_no_split_have_no_difference() -> None:
    first, second = [*aucs(0.8), {}], [{}, *aucs(0.8)]
    cost = summary(COST, "none", none=first, configured=second)
    other = {"uniform-attribute": first}
    tailoring = summary(TAILORING, "configured", configured=second, **other)
    found = findings(measured(cost=cost, tailoring=tailoring))
    assert found[0].headline.endswith("was not measured on any split.")
    assert found[1].headline.endswith("was not measured on any split.")


def test_the_page_says_that_a_linear_model_was_solved() -> None:
    cost = measured()[COST]
    free = next(one for one in cost.lines if one.facts["method"] == "none")
    noted = replace(free, notes=("solved, not descended; a detail",))
    lines = tuple(noted if one is free else one for one in cost.lines)
    page = evaluation_html("x", [replace(cost, lines=lines)], [], "a machine")
    assert "no protection: solved exactly" in page


def test_inference_above_imputation_is_said() -> None:
    surer = {**ATTACK, **INFERENCE, "gain": 0.05, "gain_low": 0.02}
    found = findings(
        measured(**{ATTRIBUTE: summary(ATTRIBUTE, "", configured=[surer])})
    )
    assert "tells more than the other columns do: AUC 0.050" in " ".join(
        found[2].details
    )


def test_what_was_refused_has_no_figure_but_a_reason() -> None:
    refused: list[dict[str, Any]] = [{}]
    found = findings(
        {
            COST: summary(COST, "none", none=refused, configured=refused),
            TAILORING: summary(
                TAILORING, "configured", configured=refused,
                **{"uniform-attribute": refused},
            ),
            MEMBERSHIP: summary(MEMBERSHIP, "", configured=refused),
            ATTRIBUTE: summary(ATTRIBUTE, "", configured=refused),
            AUDIT: summary(AUDIT, "", configured=refused),
        }
    )  # fmt: skip
    assert found[0].headline == "What protection costs was not measured. Too few rows."
    assert found[1].headline == "What tailoring buys was not measured. Too few rows."
    assert found[2].headline == "Attacks came to no figure."
    assert findings({})[2].headline == "Attacks were not tried."


def test_the_page_says_first_that_it_is_internal_and_escapes_names() -> None:
    left = [Omission("A part", "a <b>reason</b>")]
    page = evaluation_html("<script>x", list(measured().values()), left, "a machine")
    assert page.index(INTERNAL) < page.index("Protection costs 0.021")
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")
    assert "a &lt;b&gt;reason&lt;/b&gt;" in page
    for words in ("≥ 0.40", "2.00", "+0.010 ± 0.000", "−0.050 ± 0.000", "INTERNAL"):
        assert words in page


def test_the_answers_shown_first_are_of_this_form() -> None:
    """Figures of the guide change with noise; its sentences are those of today."""
    guide = Path(__file__).parents[3] / "docs" / "guide" / "evaluation.md"
    text = guide.read_text(encoding="utf-8")
    shown = text.partition("<!-- evaluate:output -->")[2].partition("<!-- /")[0]
    for answer in findings(measured()):
        form = re.sub(r"\\?\d+\\?\.\d+", r"[\\d.]+", re.escape(answer.headline))
        assert re.search(form, shown), answer.headline
