# SPDX-License-Identifier: Apache-2.0
"""The three answers in sentences, each with its numbers and intervals.

Missing figures are named as plainly as measured ones. A difference counts where its
interval does not hold zero; both ends of it are means over the same splits. Proven
bounds are rounded up, measured ones down; means, ends and gains to the nearest.

**Attacks.** An attack contradicts a proof where the lower end of its result is above
the bound. Everything that was tried is compared, not only what is shown, so ends are
corrected for it: of membership three attacks hold together with 95 %, of inference
every column and attack with more, of the audit every claim with 95 %. By the union
bound honest code has such an end in at most one evaluation of ten. That is a strong
hint, and no proof.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

from lexfed.evaluate.comparison.case import CONFIGURED
from lexfed.evaluate.harness.summary import MeanEstimate, Summary, TableLine, number
from lexfed.evaluate.own import policies
from lexfed.evaluate.own.questions import ATTRIBUTE, AUDIT, COST, MEMBERSHIP, TAILORING
from lexfed.report.wording.rounding import round_down_to, round_up, round_up_to

CLAIMS = {
    "record": "the whole record",
    "special": "a value of tier special",
    "personal": "a value of tier personal",
    "non_personal": "a value of tier non-personal",
}
SEEMS = "AN ATTACK SEEMS TO DO BETTER THAN THE PROOF ALLOWS"
HINT = (
    "This is a strong hint of a defect and no proof: honest code gives it in at most "
    "one evaluation of ten. Release nothing for now and evaluate again with another "
    "`--out`; if it comes again compare the installation with the published one and "
    "report the defect."
)


@dataclass(frozen=True)
class EvaluationFinding:
    """The answer to a question; the alarm says that something seems to be broken."""

    headline: str
    details: tuple[str, ...] = ()
    alarm: bool = False

    def __str__(self) -> str:
        """The answer as the command line prints it."""
        return "\n  ".join((self.headline, *self.details))


Summaries = Mapping[str, Summary]


@dataclass(frozen=True)
class PairedLines:
    """The means of two methods over the splits in which both have a number.

    `fewer` is the part of the splits they are over; empty where it is all of them.
    """

    first: float
    second: float
    fewer: str


def pair_of(
    summary: Summary, metric: str, first: str, second: str
) -> PairedLines | None:
    """Return two methods side by side; None where they share no split.

    Guarantees:
        Both means are over the same splits, those of the paired difference.
    """
    values: dict[str, dict[int, float]] = {first: {}, second: {}}
    for result in summary.results:
        facts, value = result["job"], number(result, metric)
        if facts["method"] in values and math.isfinite(value):
            values[facts["method"]][facts["seed"]] = value
    common = sorted(values[first].keys() & values[second].keys())
    if not common:
        return None
    one, two = (fmean(values[m][seed] for seed in common) for m in (first, second))
    return PairedLines(one, two, part_of(len(common), summary.table.seeds))


def part_of(count: int, seeds: int) -> str:
    """Return `k of n splits`; empty where it is all of them."""
    return f"{count} of {seeds} splits" if count < seeds else ""


def bracketed(text: str) -> str:
    """Return a text in brackets, to be put behind another; empty without one."""
    return f" ({text})" if text else ""


def line_of(summaries: Summaries, table: str, method: str) -> TableLine | None:
    """Return a line of a table; None where it was not measured."""
    if table not in summaries:
        return None
    lines = summaries[table].lines
    return next((one for one in lines if one.facts["method"] == method), None)


def metric_of(*lines: TableLine) -> str:
    """Return the metric that decides: AUC, or RMSE of a number; empty without one."""
    for metric in ("auc", "rmse"):
        if all(metric in one.values for one in lines):
            return metric
    return ""


def word(metric: str) -> str:
    """Return the usual name of the deciding metric."""
    return {"auc": "AUC", "rmse": "RMSE"}[metric]


def why(line: TableLine | None) -> str:
    """Return the first reason why a line has no figure, as a sentence."""
    refused = [] if line is None else [n for n in line.notes if n.startswith("refused")]
    return f" {refused[0].removeprefix('refused: ').capitalize()}." if refused else ""


def lost_by(gain: MeanEstimate | None, metric: str) -> MeanEstimate | None:
    """Return the loss of a line of the table: less AUC, or more error."""
    if gain is None or metric == "rmse":
        return gain
    return MeanEstimate(-gain.mean, gain.half, gain.count)


def differs(gain: MeanEstimate) -> bool:
    """Return True if the interval leaves zero out; one split tells nothing."""
    return gain.half is not None and abs(gain.mean) > gain.half


def amount(gain: MeanEstimate | None, *, absolute: bool = False) -> str:
    """Return a difference with the half-width of its interval."""
    if gain is None:
        return "an unknown amount"
    text = three(abs(gain.mean) if absolute else gain.mean)
    return text if gain.half is None else f"{text} ± {three(gain.half)}"


def splits(gain: MeanEstimate) -> str:
    """Return the number of splits, in words."""
    return "one split" if gain.count == 1 else f"{gain.count} splits"


def three(value: float) -> str:
    """Return a number with three decimals.

    >>> three(-0.0071), three(-0.0001)
    ('−0.007', '0.000')
    """
    text = f"{value:.3f}"
    return "0.000" if text == "-0.000" else text.replace("-", "−")


three_up = partial(round_up_to, 3)
"""Returns a proven bound with three decimals."""
three_down = partial(round_down_to, 3)
"""Returns a measured lower bound with three decimals."""
down = partial(round_down_to, 2)
"""Returns a measured lower bound with two decimals."""


def enumerated(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    >>> enumerated(["a"]), enumerated(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def findings(summaries: Summaries) -> tuple[EvaluationFinding, ...]:
    """Return the answers, in the order of the questions."""
    return (_cost(summaries), _tailoring(summaries), attacks(summaries))


def _cost(summaries: Summaries) -> EvaluationFinding:
    free, own = (line_of(summaries, COST, name) for name in (policies.NONE, CONFIGURED))
    if free is None or own is None or not (metric := metric_of(own, free)):
        return EvaluationFinding(
            f"What protection costs was not measured.{why(own or free)}"
        )
    both = pair_of(summaries[COST], metric, policies.NONE, CONFIGURED)
    if both is None:
        return EvaluationFinding("What protection costs was not measured on any split.")
    lost = lost_by(own.gains.get(metric), metric)
    name, ends = word(metric), _ends(both, " to ")
    headline = f"Protection costs {amount(lost)} of {name} ({ends})."
    if lost is not None and not differs(lost):
        headline = (
            f"The cost of protection is not significant over {splits(lost)}: "
            f"{amount(lost)} of {name} ({ends})."
        )
    elif lost is not None and lost.mean < 0:
        headline = f"Protection costs no {name} here ({ends})."
    details = []
    if "retention" in own.values:
        kept = own.values["retention"]
        over = bracketed(part_of(kept.count, own.seeds))
        left = f"{100 * kept.mean:.0f} %"
        details.append(f"{left} of the AUC above chance is left{over}.")
    details += _alone(summaries, metric)
    lines = {"Without protection": free, "The configured policy": own}
    return EvaluationFinding(headline, (*details, *_without(lines, metric)))


def _alone(summaries: Summaries, metric: str) -> list[str]:
    alone = line_of(summaries, COST, policies.LOCAL)
    if alone is None:
        return []
    both = pair_of(summaries[COST], metric, policies.LOCAL, CONFIGURED)
    if both is None:
        return [f"Sites alone were not measured.{why(alone)}"]
    return [
        f"Every site alone, under the same policy, reaches {three(both.first)}; "
        f"together they reach {three(both.second)}{bracketed(both.fewer)}."
    ]


def _tailoring(summaries: Summaries) -> EvaluationFinding:
    own = line_of(summaries, TAILORING, policies.CASCADE)
    own = own or line_of(summaries, TAILORING, CONFIGURED)
    strict = line_of(summaries, TAILORING, policies.UNIFORM_ATTRIBUTE)
    if own is None or strict is None or not (metric := metric_of(own, strict)):
        return EvaluationFinding(
            f"What tailoring buys was not measured.{why(own or strict)}"
        )
    both = pair_of(
        summaries[TAILORING], metric, own.facts["method"], policies.UNIFORM_ATTRIBUTE
    )
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
            f"The gain of tailoring is not significant over {over}: {amount(gained)} "
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
    loose = line_of(summaries, TAILORING, policies.UNIFORM_RECORD)
    method = own.facts["method"]
    both = pair_of(summaries[TAILORING], metric, policies.UNIFORM_RECORD, method)
    if loose is None or both is None:
        return [f"At the same ε of the record nothing was measured.{why(loose)}"]
    gained = lost_by(loose.gains.get(metric), metric)
    spent, strict = (one.values.get("attribute_epsilon") for one in (loose, own))
    text = (
        f"At the same ε of the whole record uniform noise reaches "
        f"{three(both.first)}, a difference of {amount(gained)}{bracketed(both.fewer)}"
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


def _without(lines: dict[str, TableLine], metric: str) -> list[str]:
    """Return the lines without a figure, with the number of splits and the reason."""
    sentences = []
    for name, line in lines.items():
        missing = line.seeds - line.values[metric].count
        if missing:
            causes = ("refused", "diverged")
            reasons = "; ".join(n for n in line.notes if n.startswith(causes))
            why = f": {reasons}" if reasons else ""
            sentences.append(f"{name} has no figure in {missing} of {line.seeds}{why}.")
    return sentences


def attacks(summaries: Summaries) -> EvaluationFinding:
    """Return the answer; its headline names the attacks, tried or not."""
    parts = {
        "membership attacks": _membership(summaries),
        "attribute inference": _inference(summaries),
        "an audit with canaries": _audit(summaries),
    }
    known = [part for part in parts.values() if part is not None]
    if not known:
        return EvaluationFinding("Attacks were not tried.")
    broken = [part.headline for part in known if part.alarm]
    if broken:
        others = [part.headline for part in known if part.headline and not part.alarm]
        rest = [sentence for part in known for sentence in part.details]
        return EvaluationFinding(
            f"{SEEMS}: {' '.join(broken)}", (HINT, *others, *rest), alarm=True
        )
    if not any(part.headline for part in known):
        details = tuple(sentence for part in known for sentence in part.details)
        return EvaluationFinding("Attacks came to no figure.", details)
    said = (text for part in known for text in (part.headline, *part.details) if text)
    return EvaluationFinding(_headline(parts), tuple(said))


def _headline(parts: dict[str, EvaluationFinding | None]) -> str:
    """Return a headline that names every attack; silence would be taken for a pass."""
    tried = [name for name, part in parts.items() if part and part.headline]
    without = [name for name, part in parts.items() if part and not part.headline]
    absent = [name for name, part in parts.items() if part is None]
    text = f"{enumerated(tried)} did no better than the proof allows"
    if without:
        text += f"; without a figure: {enumerated(without)}"
    if absent:
        text += f"; not tried: {enumerated(absent)}"
    return f"{text[0].upper()}{text[1:]}."


def _membership(summaries: Summaries) -> EvaluationFinding | None:
    own = line_of(summaries, MEMBERSHIP, CONFIGURED)
    if own is None:
        return None
    if "strongest_low" not in own.values:
        return EvaluationFinding("", (f"Membership was not attacked.{why(own)}",))
    names = ("auc", "low", "high", "bound", "strongest_low")
    auc, low, high, bound, strongest = (own.values[name].mean for name in names)
    said = (
        f"Who was trained on is guessed with AUC {three(auc)} ({three(low)} to "
        f"{three(high)}); 0.5 is guessing, the proof allows {three_up(bound)}."
    )
    free = line_of(summaries, MEMBERSHIP, policies.NONE)
    beside: tuple[str, ...] = ()
    if free is not None and "auc" in free.values:
        found, first, last = (free.values[n].mean for n in ("auc", "low", "high"))
        beside = (
            f"Without protection the same attack reaches {three(found)} "
            f"({three(first)} to {three(last)}).",
        )
    if strongest <= bound:
        return EvaluationFinding(said, beside)
    beyond = (
        f"The strongest of three attacks on membership has an AUC of at least "
        f"{three_down(strongest)}, the proof allows {three_up(bound)}."
    )
    return EvaluationFinding(beyond, (said, *beside), alarm=True)


def _inference(summaries: Summaries) -> EvaluationFinding | None:
    own = line_of(summaries, ATTRIBUTE, CONFIGURED)
    if own is None:
        return None
    if "gain_low" not in own.values or "excess" not in own.values:
        return EvaluationFinding(
            "", (f"Sensitive values were not attacked.{why(own)}",)
        )
    names = ("excess", "gain", "gain_low", "imputation_auc", "columns")
    excess, gain, surest, imputed, columns = (own.values[n].mean for n in names)
    tried = f"{columns:.0f} column{'' if columns == 1 else 's'} of the sensitive tier"
    if surest > 0:
        said = (
            f"On {tried}, the model tells more than the other columns do: AUC "
            f"{three(gain)} above imputation, at least {three(surest)}."
        )
    else:
        said = (
            f"On {tried}, no attack significantly beats imputation, which has no "
            f"model (AUC {three(imputed)})."
        )
    if excess <= 0:
        return EvaluationFinding(said)
    beyond = (
        f"Of attacks on {tried}, one has an AUC that is by {three_down(excess)} or "
        "more above what the proof allows."
    )
    return EvaluationFinding(beyond, (said,), alarm=True)


def _audit(summaries: Summaries) -> EvaluationFinding | None:
    own = line_of(summaries, AUDIT, CONFIGURED)
    if own is None:
        return None
    if "refuted" not in own.values:
        return EvaluationFinding("", (f"Claims were not audited.{why(own)}",))
    told = "; ".join(
        f"{CLAIMS[claim]}: found at least {down(found)}, proven {round_up(claimed)}"
        for claim, found, claimed in audited(own)
    )
    refuted = own.values["refuted"].mean > 0
    more = "more" if refuted else "less"
    return EvaluationFinding(
        f"Canaries find {more} ε than is proven ({told}).", alarm=refuted
    )


def audited(line: TableLine) -> list[tuple[str, float, float]]:
    """Return claim, lower bound found and epsilon proven, in the order of `CLAIMS`."""
    means = {name: value.mean for name, value in line.values.items()}
    return [
        (claim, means[f"{claim}_found"], means[f"{claim}_claimed"])
        for claim in CLAIMS
        if f"{claim}_found" in means
    ]
