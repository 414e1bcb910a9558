# SPDX-License-Identifier: Apache-2.0
"""The three answers in sentences, each with its numbers and intervals.

What was not measured is said as plainly as what was. A difference counts where its
interval does not hold zero; an attack contradicts a proof where even the lower end of
its interval is above the bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from lexfed.evaluate.methods.case import CONFIGURED
from lexfed.evaluate.own.numbers import (
    amount,
    differs,
    down,
    lost_by,
    percent,
    splits,
    three,
    three_up,
)
from lexfed.evaluate.own.policies import (
    CASCADE,
    LOCAL,
    NONE,
    UNIFORM_ATTRIBUTE,
    UNIFORM_RECORD,
)
from lexfed.evaluate.own.questions import ATTRIBUTE, AUDIT, COST, MEMBERSHIP, TAILORING
from lexfed.evaluate.summary import Estimate, Line, Summary
from lexfed.report.digits import up

CLAIMS = {
    "record": "the whole record",
    "special": "a value of tier special",
    "personal": "a value of tier personal",
    "non_personal": "a value of tier non-personal",
}


@dataclass(frozen=True)
class Finding:
    """The answer to a question.

    Attributes:
        headline: one sentence that can stand alone.
        details: further sentences.
        alarm: whether something is broken.
    """

    headline: str
    details: tuple[str, ...] = ()
    alarm: bool = False


Summaries = Mapping[str, Summary]


def findings(summaries: Summaries) -> tuple[Finding, ...]:
    """Return the answers, in the order of the questions."""
    return (_cost(summaries), _tailoring(summaries), _attacks(summaries))


def line_of(summaries: Summaries, table: str, method: str) -> Line | None:
    """Return a line of a table; None where it was not measured."""
    if table not in summaries:
        return None
    lines = summaries[table].lines
    return next((one for one in lines if one.facts["method"] == method), None)


def _cost(summaries: Summaries) -> Finding:
    free, own = (line_of(summaries, COST, name) for name in (NONE, CONFIGURED))
    if free is None or own is None or not (metric := metric_of(own, free)):
        return Finding(f"What protection costs was not measured.{_why(own or free)}")
    before, after = free.values[metric], own.values[metric]
    lost = lost_by(own.gains.get(metric), metric)
    name, ends = word(metric), f"{three(before.mean)} to {three(after.mean)}"
    headline = f"Protection costs {amount(lost)} of {name} ({ends})."
    if lost is not None and not differs(lost):
        headline = (
            f"What protection costs is lost in the spread of {splits(lost)}: "
            f"{amount(lost)} of {name} ({ends})."
        )
    elif lost is not None and lost.mean < 0:
        headline = f"Protection costs no {name} here ({ends})."
    details = []
    if "retention" in own.values:
        kept = own.values["retention"]
        details.append(f"{percent(kept)} of the AUC above chance is left.")
    details += _alone(summaries, metric, after)
    return Finding(headline, (*details, *_diverged(own)))


def _alone(summaries: Summaries, metric: str, together: Estimate) -> list[str]:
    alone = line_of(summaries, COST, LOCAL)
    if alone is None:
        return []
    if metric not in alone.values:
        return [f"Sites alone were not measured.{_why(alone)}"]
    found = alone.values[metric]
    return [
        f"Every site alone, under the same policy, reaches {three(found.mean)}; "
        f"together they reach {three(together.mean)}."
    ]


def _tailoring(summaries: Summaries) -> Finding:
    own = line_of(summaries, TAILORING, CASCADE)
    own = own or line_of(summaries, TAILORING, CONFIGURED)
    strict = line_of(summaries, TAILORING, UNIFORM_ATTRIBUTE)
    loose = line_of(summaries, TAILORING, UNIFORM_RECORD)
    if own is None or strict is None or not (metric := metric_of(own, strict)):
        return Finding(f"What tailoring buys was not measured.{_why(own or strict)}")
    # The table compares uniform noise with the cascade: gains have the other sign.
    gained = lost_by(strict.gains.get(metric), metric)
    name = word(metric)
    ends = (
        f"{three(own.values[metric].mean)} against {three(strict.values[metric].mean)}"
    )
    shared = own.values.get("attribute_epsilon")
    at = "" if shared is None else f" (ε {up(shared.mean)} for one value)"
    equal = f"at equal protection of the most sensitive tier{at}"
    if gained is None or not differs(gained):
        over = "no splits" if gained is None else splits(gained)
        headline = (
            f"What tailoring gains is lost in the spread of {over}: {amount(gained)} "
            f"of {name} over uniform noise {equal}, {ends}."
        )
    else:
        verb = "gains" if gained.mean > 0 else "loses"
        headline = (
            f"Tailoring {verb} {amount(gained, absolute=True)} of {name} over uniform "
            f"noise {equal}: {ends}."
        )
    return Finding(headline, tuple(_same_record(own, loose, metric)))


def _same_record(own: Line, loose: Line | None, metric: str) -> list[str]:
    if loose is None or metric not in loose.values:
        return [f"At the same ε of the record nothing was measured.{_why(loose)}"]
    gained = lost_by(loose.gains.get(metric), metric)
    spent, strict = (one.values.get("attribute_epsilon") for one in (loose, own))
    text = (
        f"At the same ε of the whole record uniform noise reaches "
        f"{three(loose.values[metric].mean)}, a difference of {amount(gained)}"
    )
    if spent is not None and strict is not None:
        text += (
            f"; a sensitive value then has ε {up(spent.mean)} instead of "
            f"{up(strict.mean)}"
        )
    return [f"{text}."]


def _attacks(summaries: Summaries) -> Finding:
    parts = [_membership(summaries), _inference(summaries), _audit(summaries)]
    known = [part for part in parts if part is not None]
    if not known:
        return Finding("Attacks were not tried.")
    broken = [part for part in known if part.alarm]
    details = tuple(sentence for part in known for sentence in part.details)
    if broken:
        return Finding(
            "AN ATTACK DID BETTER THAN THE PROOF ALLOWS: "
            + " ".join(part.headline for part in broken),
            (
                "Release nothing that was made with this installation; compare it with "
                "the published one and report the defect.",
                *details,
            ),
            alarm=True,
        )
    if not any(part.headline for part in known):
        return Finding("Attacks came to no figure.", details)
    said = (text for part in known for text in (part.headline, *part.details) if text)
    return Finding("No attack did better than the proof allows.", tuple(said))


def _membership(summaries: Summaries) -> Finding | None:
    own = line_of(summaries, MEMBERSHIP, CONFIGURED)
    if own is None:
        return None
    if "auc" not in own.values:
        return Finding("", (f"Membership was not attacked.{_why(own)}",))
    names = ("auc", "low", "high", "bound")
    auc, low, high, bound = (own.values[name].mean for name in names)
    said = (
        f"Who was trained on is guessed with AUC {three(auc)} ({three(low)} to "
        f"{three(high)}); 0.5 is guessing, the proof allows {three_up(bound)}."
    )
    free = line_of(summaries, MEMBERSHIP, NONE)
    beside: tuple[str, ...] = ()
    if free is not None and "auc" in free.values:
        found, first, last = (free.values[n].mean for n in ("auc", "low", "high"))
        beside = (
            f"Without protection the same attack reaches {three(found)} "
            f"({three(first)} to {three(last)}).",
        )
    return Finding(said, beside, alarm=low > bound)


def _inference(summaries: Summaries) -> Finding | None:
    own = line_of(summaries, ATTRIBUTE, CONFIGURED)
    if own is None:
        return None
    if "gain_low" not in own.values:
        return Finding("", (f"Sensitive values were not attacked.{_why(own)}",))
    names = ("low", "bound", "gain", "gain_low", "imputation_auc", "columns")
    low, bound, gain, surest, imputed, columns = (own.values[n].mean for n in names)
    tried = f"{columns:.0f} column{'' if columns == 1 else 's'} of the sensitive tier"
    if surest > 0:
        said = (
            f"On {tried}, the model tells more than the other columns do: AUC "
            f"{three(gain)} above imputation, at least {three(surest)}."
        )
    else:
        said = (
            f"On {tried}, no attack is surely better than imputation, which has no "
            f"model (AUC {three(imputed)})."
        )
    return Finding(said, alarm=low > bound)


def _audit(summaries: Summaries) -> Finding | None:
    own = line_of(summaries, AUDIT, CONFIGURED)
    if own is None:
        return None
    if "refuted" not in own.values:
        return Finding("", (f"Claims were not audited.{_why(own)}",))
    told = "; ".join(
        f"{CLAIMS[claim]}: found at least {down(found)}, proven {up(claimed)}"
        for claim, found, claimed in audited(own)
    )
    return Finding(
        f"Canaries find less ε than is proven ({told})."
        if not own.values["refuted"].mean
        else f"Canaries find more ε than is proven ({told}).",
        alarm=own.values["refuted"].mean > 0,
    )


def audited(line: Line) -> list[tuple[str, float, float]]:
    """Return claim, lower bound found and epsilon proven, in the order of `CLAIMS`."""
    return [
        (
            claim,
            line.values[f"{claim}_found"].mean,
            line.values[f"{claim}_claimed"].mean,
        )
        for claim in CLAIMS
        if f"{claim}_found" in line.values
    ]


def metric_of(*lines: Line) -> str:
    """Return the metric that decides: AUC, or RMSE of a number; empty without one."""
    for metric in ("auc", "rmse"):
        if all(metric in one.values for one in lines):
            return metric
    return ""


def word(metric: str) -> str:
    """Return what people call the deciding metric."""
    return {"auc": "AUC", "rmse": "RMSE"}[metric]


def _diverged(line: Line) -> tuple[str, ...]:
    return tuple(f"The configured policy {n}." for n in line.notes if "diverged" in n)


def _why(line: Line | None) -> str:
    refused = [] if line is None else [n for n in line.notes if n.startswith("refused")]
    return f" {refused[0].removeprefix('refused: ').capitalize()}." if refused else ""
