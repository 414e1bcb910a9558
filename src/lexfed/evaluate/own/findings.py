# SPDX-License-Identifier: Apache-2.0
"""The three answers in sentences, each with its numbers and intervals.

Missing figures are named as plainly as measured ones. A difference counts where its
interval does not hold zero; both ends of it are means over the splits that it is over.
"""

from lexfed.evaluate.comparison.case import CONFIGURED
from lexfed.evaluate.harness.summary import TableLine
from lexfed.evaluate.own.attack_findings import attacks
from lexfed.evaluate.own.paired_lines import (
    EvaluationFinding,
    PairedLines,
    Summaries,
    line_of,
    metric_of,
    pair_of,
    part_of,
    why,
    word,
)
from lexfed.evaluate.own.policies import (
    CASCADE,
    LOCAL,
    NONE,
    UNIFORM_ATTRIBUTE,
    UNIFORM_RECORD,
)
from lexfed.evaluate.own.questions import COST, TAILORING
from lexfed.evaluate.own.rounding import (
    amount,
    differs,
    lost_by,
    percent,
    splits,
    three,
)
from lexfed.report.wording.rounding import round_up


def findings(summaries: Summaries) -> tuple[EvaluationFinding, ...]:
    """Return the answers, in the order of the questions."""
    return (_cost(summaries), _tailoring(summaries), attacks(summaries))


def _cost(summaries: Summaries) -> EvaluationFinding:
    free, own = (line_of(summaries, COST, name) for name in (NONE, CONFIGURED))
    if free is None or own is None or not (metric := metric_of(own, free)):
        return EvaluationFinding(
            f"What protection costs was not measured.{why(own or free)}"
        )
    both = pair_of(summaries[COST], metric, NONE, CONFIGURED)
    if both is None:
        return EvaluationFinding("What protection costs was not measured on any split.")
    lost = lost_by(own.gains.get(metric), metric)
    name, ends = word(metric), _ends(both, " to ")
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
        over = _bracketed(part_of(kept.count, own.seeds))
        details.append(f"{percent(kept)} of the AUC above chance is left{over}.")
    details += _alone(summaries, metric)
    lines = {"Without protection": free, "The configured policy": own}
    return EvaluationFinding(headline, (*details, *_without(lines, metric)))


def _alone(summaries: Summaries, metric: str) -> list[str]:
    alone = line_of(summaries, COST, LOCAL)
    if alone is None:
        return []
    both = pair_of(summaries[COST], metric, LOCAL, CONFIGURED)
    if both is None:
        return [f"Sites alone were not measured.{why(alone)}"]
    return [
        f"Every site alone, under the same policy, reaches {three(both.first)}; "
        f"together they reach {three(both.second)}{_bracketed(both.fewer)}."
    ]


def _tailoring(summaries: Summaries) -> EvaluationFinding:
    own = line_of(summaries, TAILORING, CASCADE)
    own = own or line_of(summaries, TAILORING, CONFIGURED)
    strict = line_of(summaries, TAILORING, UNIFORM_ATTRIBUTE)
    if own is None or strict is None or not (metric := metric_of(own, strict)):
        return EvaluationFinding(
            f"What tailoring buys was not measured.{why(own or strict)}"
        )
    both = pair_of(summaries[TAILORING], metric, own.facts["method"], UNIFORM_ATTRIBUTE)
    if both is None:
        return EvaluationFinding("What tailoring buys was not measured on any split.")
    # The table compares uniform noise with the cascade: gains have the other sign.
    gained = lost_by(strict.gains.get(metric), metric)
    name, ends = word(metric), _ends(both, " against ")
    shared = own.values.get("attribute_epsilon")
    at = "" if shared is None else f" (ε {round_up(shared.mean)} for one value)"
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
    lines = {"Tailored noise": own, "Uniform noise": strict}
    said = _same_record(summaries, own, metric)
    return EvaluationFinding(headline, (*said, *_without(lines, metric)))


def _same_record(summaries: Summaries, own: TableLine, metric: str) -> list[str]:
    loose = line_of(summaries, TAILORING, UNIFORM_RECORD)
    method = own.facts["method"]
    both = pair_of(summaries[TAILORING], metric, UNIFORM_RECORD, method)
    if loose is None or both is None:
        return [f"At the same ε of the record nothing was measured.{why(loose)}"]
    gained = lost_by(loose.gains.get(metric), metric)
    spent, strict = (one.values.get("attribute_epsilon") for one in (loose, own))
    text = (
        f"At the same ε of the whole record uniform noise reaches "
        f"{three(both.first)}, a difference of {amount(gained)}{_bracketed(both.fewer)}"
    )
    if spent is not None and strict is not None:
        text += (
            f"; a sensitive value then has ε {round_up(spent.mean)} instead of "
            f"{round_up(strict.mean)}"
        )
    return [f"{text}."]


def _ends(both: PairedLines, between: str) -> str:
    over = f"; {both.fewer}" if both.fewer else ""
    return f"{three(both.first)}{between}{three(both.second)}{over}"


def _bracketed(text: str) -> str:
    return f" ({text})" if text else ""


def _without(lines: dict[str, TableLine], metric: str) -> list[str]:
    """Return the lines without a figure, with the number of splits and the reason."""
    found = []
    for name, line in lines.items():
        missing = line.seeds - line.values[metric].count
        if missing:
            causes = ("refused", "diverged")
            reasons = "; ".join(n for n in line.notes if n.startswith(causes))
            told = f": {reasons}" if reasons else ""
            found.append(f"{name} has no figure in {missing} of {line.seeds}{told}.")
    return found
