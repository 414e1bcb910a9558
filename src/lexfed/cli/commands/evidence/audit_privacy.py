# SPDX-License-Identifier: Apache-2.0
"""`lexfed audit-privacy`: what attacks find, beside what is proven. Spends nothing."""

from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Annotated

from typer import Option

from lexfed.cli import talk
from lexfed.cli.options import DEFAULT, AsJson, ConfigFile
from lexfed.cli.output import print_json
from lexfed.cli.progress import ProgressLine
from lexfed.counted_words import counted
from lexfed.errors import ClaimError
from lexfed.report.wording.rounding import round_down_to, round_up

if TYPE_CHECKING:
    from lexfed.evaluate.empirical.claim_audit import ClaimAudit


def audit_privacy(
    config: ConfigFile = DEFAULT,
    canaries: Annotated[
        int, Option(min=100, help="Synthetic canaries for each claim.")
    ] = 5000,
    as_json: AsJson = False,
) -> None:
    """Attack every claim of a run with synthetic canaries.

    The exit code is 1 if a claim is shown to be false.
    """
    from lexfed.cli.inputs import load_config, load_priced, located_errors
    from lexfed.evaluate.empirical.claim_audit import CONFIDENCE, audit

    priced = load_priced(config, load_config(config))
    line = ProgressLine("canaries")
    with located_errors(config):
        found = audit(priced, canaries, on_game=partial(_show_progress, line))
    if as_json:
        rows = [{**asdict(one), "refuted": one.refuted} for one in found]
        print_json({"confidence": CONFIDENCE, "claims": rows})
    else:
        print("\n".join(table(found)))
    refuted = [one for one in found if one.refuted]
    if refuted:
        worst = ", ".join(
            f"`{one.claim}` is at least {round_down_to(2, one.lower)}, "
            f"not {round_up(one.epsilon)}"
            for one in refuted
        )
        raise ClaimError(
            f"attacks find more than is claimed: ε of {worst}",
            "do not release anything made with this installation; compare it with the "
            "published one and report the defect",
        )
    talk.say(
        f"no claim is refuted. With confidence {CONFIDENCE:.0%} every `found` is below "
        "the true ε; a low one proves only that this attack failed"
    )


def table(found: Sequence["ClaimAudit"]) -> list[str]:
    """Return what was found beside what is claimed, as lines."""
    lines = ["claim         between     proven ε   found ε   guessed right"]
    return lines + [
        f"{one.claim:13} {one.neighbours:11} {round_up(one.epsilon):>8}   "
        f"≥{round_down_to(2, one.lower):>6}    {one.correct} of {one.guesses} "
        f"({one.correct / one.guesses:.1%}), {counted(one.canaries, 'canary')}"
        for one in found
    ]


def _show_progress(line: ProgressLine, claim: str, done: int, canaries: int) -> None:
    """Show how many canaries of a claim had their coin; each claim has its line."""
    line.show(done, canaries, [claim])
    if done == canaries:
        line.end()
