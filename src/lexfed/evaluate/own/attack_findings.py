# SPDX-License-Identifier: Apache-2.0
"""Do attacks agree with the proofs? The answer in sentences, with all that was tried.

An attack contradicts a proof where the lower end of its result is above the bound.
Everything that was tried is compared, not only what is shown, so ends are corrected for
it: of membership three attacks hold together with 95 %, of inference every column and
attack with more, of the audit every claim with 95 %. By the union bound honest code has
such an end in at most one evaluation of ten. That is a strong hint, and no proof.
"""

from lexfed.evaluate.comparison.case import CONFIGURED
from lexfed.evaluate.harness.summary import TableLine
from lexfed.evaluate.own.paired_lines import EvaluationFinding, Summaries, line_of, why
from lexfed.evaluate.own.policies import NONE
from lexfed.evaluate.own.questions import ATTRIBUTE, AUDIT, MEMBERSHIP
from lexfed.evaluate.own.rounding import down, enumerated, three, three_down, three_up
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
