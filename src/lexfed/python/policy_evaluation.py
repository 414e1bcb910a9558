# SPDX-License-Identifier: Apache-2.0
"""`evaluate_policy`: the cost of a policy and attacks on it, on the holder's own data.

    found = lexfed.evaluate_policy("lexfed.toml", seeds=2)
    print(found)          # three answers, with intervals
    found.page            # figures for people

It is `lexfed evaluate CONFIG`. Processes do the runs; what they are given is a private
copy of the rows, which is removed at the end.
"""

import warnings
from pathlib import Path

from lexfed.errors import ConfigError, Problem
from lexfed.evaluate.own.evaluation import (
    SEEDS,
    PolicyEvaluation,
    evaluation_folder,
    measured_policy,
    own_dataset,
)
from lexfed.evaluate.suite import Evaluation
from lexfed.python.drafts import RunDraft
from lexfed.python.requests import requested


def evaluate_policy(
    config: Path | str | RunDraft,
    *,
    seeds: int = SEEDS,
    out: Path | str | None = None,
    resume: bool = False,
    processes: int | None = None,
) -> PolicyEvaluation:
    """Compare a policy with none, attack its models, and audit its claims.

    The figures are exact, private and paid for by no budget: for the data's holders
    only. `alarm` is true if an attack seems to do better than the proof allows.

    Args:
        config: a configuration, or one that `init` has drafted for a file. Data frames
            are refused, since the processes read a copy on disk.
        seeds: splits of the rows over which methods are compared.
        out: the folder of the results, `runs/NAME-evaluation` by default.
        resume: go on with the results that are there.
        processes: runs at once; one for each core by default.

    Raises:
        ConfigError, DataError: with every problem; nothing was measured.
        RunFolderError: if the folder cannot be used.
        IncompleteTables: if runs failed; `resume=True` tries them again.
    """
    for name, value in (("seeds", seeds), ("processes", processes)):
        whole = isinstance(value, int) and not isinstance(value, bool) and value > 0
        if not whole and (name, value) != ("processes", None):
            what = "expected a whole number above 0"
            raise ConfigError([Problem(f"`{name}`", what, f"for example `{name}=2`")])
    given: object = config
    in_memory = isinstance(given, RunDraft) and given.in_memory
    if in_memory or not isinstance(given, Path | str | RunDraft):
        what = f"expected a configuration, got a `{type(given).__name__}`"
        if in_memory:
            what = "expected a configuration of files, got one of a data frame"
        hint = "its processes read files: write the table, and draft from the file"
        raise ConfigError([Problem("`config`", what, hint)])
    request = requested(config, None, {})
    priced, name = request.priced(), request.config.run.name
    folder = Path("runs") / f"{name}-evaluation" if out is None else Path(out)
    digest = request.config.digest
    with evaluation_folder(folder, digest, resume, _warn, _unsaid) as held:
        dataset = own_dataset(priced, request.path.parent, held.rows)
        return measured_policy(
            held, dataset, request.config, seeds, processes, _run, _unsaid
        )


def _run(found: Evaluation) -> None:
    for step in found.run():
        if step.failure is not None:
            job = f"{step.job.method}, seed {step.job.seed}"
            _warn(f"{job}: {step.failure.words}")


def _warn(text: str, hint: str = "") -> None:
    warnings.warn(f"{text}; {hint}" if hint else text, stacklevel=3)


def _unsaid(_: str) -> None:
    """Progress is for terminals; what was left out is in the result."""
