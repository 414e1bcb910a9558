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

from lexfed.evaluate.comparison.case import CONFIGURED
from lexfed.evaluate.harness.summary import TableLine
from lexfed.evaluate.own.paired_lines import (
    EvaluationFinding,
    PairedLines,
    Summaries,
    amount,
    differs,
    down,
    enumerated,
    line_of,
    lost_by,
    metric_of,
    pair_of,
    part_of,
    splits,
    three,
    three_down,
    three_up,
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
from lexfed.evaluate.own.questions import ATTRIBUTE, AUDIT, COST, MEMBERSHIP, TAILORING
from lexfed.report.wording.rounding import round_up

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
        left = f"{100 * kept.mean:.0f} %"
        details.append(f"{left} of the AUC above chance is left{over}.")
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
    free = line_of(summaries, MEMBERSHIP, NONE)
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
            f"On {tried}, no attack is surely better than imputation, which has no "
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
    return [
        (
            claim,
            line.values[f"{claim}_found"].mean,
            line.values[f"{claim}_claimed"].mean,
        )
        for claim in CLAIMS
        if f"{claim}_found" in line.values
    ]
