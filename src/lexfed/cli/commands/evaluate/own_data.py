# SPDX-License-Identifier: Apache-2.0
"""`lexfed evaluate CONFIG`: three questions about somebody's own data and policy."""

from pathlib import Path

from lexfed.cli import talk
from lexfed.cli.commands.evaluate.public_tables import (
    EvaluationOptions,
    run_jobs,
    summary_json,
)
from lexfed.cli.inputs import load_config, load_priced, located_errors
from lexfed.cli.output import print_json
from lexfed.errors import ClaimError
from lexfed.evaluate.own.evaluation import (
    PolicyEvaluation,
    evaluation_folder,
    measured_policy,
    own_dataset,
)
from lexfed.evaluate.own.page import INTERNAL
from lexfed.evaluate.results.files import ALL


def evaluate_own(path: Path, seeds: int, options: EvaluationOptions) -> None:
    """Run what is left of an evaluation, and write its page once all of it is there."""
    config = load_config(path)
    priced = load_priced(path, config)
    out = options.out or Path("runs") / f"{config.run.name}-evaluation"
    talk.warn(INTERNAL)
    with evaluation_folder(
        out, config.digest, options.resume, talk.warn, talk.say
    ) as held:
        with located_errors(path):
            dataset = own_dataset(priced, path.parent, held.rows)
        found = measured_policy(
            held, dataset, config, seeds, options.processes, run_jobs, talk.say
        )
    publish_answers(found, options.as_json)


def publish_answers(found: PolicyEvaluation, as_json: bool) -> None:
    """Print the answers, and raise `ClaimError` if one of them is an alarm."""
    if as_json:
        print_json(_json(found))
    else:
        for answer in found.answers:
            print(answer)
    talk.say(f"\nPage: {found.page}   every run: {found.folder / ALL}")
    if found.alarm:
        raise ClaimError(
            "an attack seems to do better than the proof allows",
            "a strong hint, no proof: honest code gives it in at most one evaluation "
            "of ten; release nothing for now and evaluate again with another `--out`",
        )


def _json(found: PolicyEvaluation) -> dict[str, object]:
    return {
        "internal": True,
        "answers": [
            {"headline": one.headline, "details": one.details, "alarm": one.alarm}
            for one in found.answers
        ],
        "left_out": [{"part": one.part, "why": one.why} for one in found.left_out],
        "tables": [summary_json(summary) for summary in found.summaries],
    }
