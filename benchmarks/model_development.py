# SPDX-License-Identifier: Apache-2.0
"""Where a model gains and loses by a change of its rule, table by table; JSON lines.

    python -m benchmarks.model_development > before.jsonl
    ... change the rule, or take another `--model` ...
    python -m benchmarks.model_development --against before.jsonl > after.jsonl

Tables are the made-up suite, of which each table differs from a centre in one factor,
and three public ones that no result is reported on (`LEXFED_DATA`). The six tables of
the results are refused: a rule that was chosen on a table says little by its result
there. One line for each table and epsilon:

    cascade     the product's AUC at this epsilon of the record (replace-one, δ 1e-5),
                a value of a special column at .15 of it and of a personal one at .6,
                as `lexfed init` caps them
    none        the same linear model without privacy
    additive    explainable boosting without privacy (splines without the extra `ebm`)
    truth       the best that any model can have; null where nobody knows

Of three classes it is the mean AUC of each against the others, of a number R². A seed
decides the split, and of a made-up table its rows and truth too; noise is fresh in
every run. With `--against` a line has the gain over the stored one, paired by seed, and
the half-width of its 95 % interval; means by factor go to stderr. `--tables` takes
names and patterns: `--tables 'suite-rows-*,synthea'`.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score

from lexfed.arrays import Floats
from lexfed.config.drafting.first_draft import PERSONAL_SHARE, SPECIAL_SHARE
from lexfed.errors import ConfigError, LexfedError, Problem
from lexfed.evaluate.comparison.case import Case, configuration, sensitive_tier
from lexfed.evaluate.comparison.split_rows import SplitRows, rows_of
from lexfed.evaluate.datasets import Dataset, prepare
from lexfed.evaluate.datasets.preparation import DERIVED
from lexfed.evaluate.datasets.source_folder import VARIABLE, data_folder
from lexfed.evaluate.datasets.synthetic import SUITE
from lexfed.evaluate.datasets.synthetic.suite.rows import probabilities
from lexfed.evaluate.datasets.synthetic.suite.tables import group_of
from lexfed.evaluate.harness.summary import estimate
from lexfed.evaluate.harness.tables import code_digest
from lexfed.evaluate.harness.workers import Failure, in_parallel
from lexfed.evaluate.methods.additive import predictions, true_scores
from lexfed.evaluate.methods.exact_solution import solve
from lexfed.evaluate.methods.product import MethodKeys
from lexfed.models.losses import Loss
from lexfed.run.driver.rehearsal import rehearse
from lexfed.run.pricing.priced_run import price
from lexfed.tiers import Tier

EPSILONS = (0.1, 1.0, 2.0, 8.0)
DEVELOPMENT: Mapping[str, int | None] = {
    "diabetes130": 20_000,
    "synthea": None,
    "creditcard_fraud_sample": None,
}
"""Public tables that no comparison is reported on, and how many rows are used."""
REPORTED = frozenset(
    {
        *("adult", "german_credit", "heart_uci4"),
        *("eicu_demo", "taiwan_default", "support2"),
    }
)
"""The six tables of the results."""
MOST_CLASSES = 3
_CASCADE: MethodKeys = {"privacy": {"mechanism": "cascade"}}
_NONE: MethodKeys = {"privacy": {"mechanism": "none"}}


def chosen(asked: str) -> tuple[str, ...]:
    """Return the tables that names and patterns mean, each once.

    Raises:
        ConfigError: for a reported table, or what means no table at all.
    """
    known = (*SUITE, *DEVELOPMENT)
    found: dict[str, None] = {}
    for word in filter(None, (part.strip() for part in asked.split(","))):
        source = DERIVED[word][0] if word in DERIVED else word
        if source in REPORTED:
            what = f"`{word}` is one of the tables that results are reported on"
            hint = (
                "a rule that was chosen on a table says little by its result there; "
                f"choose among {', '.join(DEVELOPMENT)} and `suite-*`"
            )
            raise ConfigError([Problem("--tables", what, hint)])
        meant = [name for name in known if fnmatchcase(name, word)]
        if not meant:
            what, hint = f"no table is called `{word}`", f"known: {', '.join(known)}"
            raise ConfigError([Problem("--tables", what, hint)])
        found |= dict.fromkeys(meant)
    return tuple(found)


def cell(dataset: Dataset, epsilon: float, seed: int, model: str = "logistic") -> Case:
    """Return the case with the caps that `lexfed init` writes."""
    plain = Case(seed)
    special = sensitive_tier(dataset, plain) is Tier.SPECIAL
    return Case(
        seed,
        record_epsilon=epsilon,
        attribute_epsilon=epsilon * (SPECIAL_SHARE if special else PERSONAL_SHARE),
        personal_epsilon=epsilon * PERSONAL_SHARE if special else None,
        model=model,
    )


def measured(
    name: str, seed: int, epsilons: Sequence[float], model: str = "logistic"
) -> dict[str, Any]:
    """Return every score of one table and seed, as JSON values."""
    with TemporaryDirectory() as folder:
        # A public table has the same rows whatever the seed; only its split differs.
        made = seed if name in SUITE else 0
        rows = DEVELOPMENT.get(name)
        dataset = prepare(name, Path(folder), rows=rows, seed=made)
        case = cell(dataset, max(epsilons), seed)
        split = rows_of(dataset, case, MOST_CLASSES)
        private = {}
        start = process_time()
        for epsilon in epsilons:
            own = cell(dataset, epsilon, seed, model)
            predicted = _through_the_product(dataset, own, split, _CASCADE)
            private[str(epsilon)] = _score(split, predicted)
        seconds = (process_time() - start) / len(epsilons)
        additive, additive_by = predictions(split, seed)
        return {
            "data": dataset.digest[:12],
            "rows": len(split.train.targets),
            "score": "r2" if _is_number(split) else "auc",
            "truth": _truth(dataset, split) if name in SUITE else None,
            "none": _score(split, _without_privacy(dataset, case, split)),
            "additive": _score(split, additive),
            "additive_by": additive_by,
            "cascade": private,
            "seconds": seconds,
        }


def _is_number(rows: SplitRows) -> bool:
    return rows.table.schema.task == "regression"


def _score(rows: SplitRows, predicted: Floats) -> float | None:
    """Return AUC or R² of the test rows; None where numbers are lost."""
    targets = rows.test.targets
    if not np.isfinite(predicted).all():
        return None
    if _is_number(rows):
        return float(r2_score(targets, predicted))
    if predicted.ndim == 1:
        return float(roc_auc_score(targets, predicted))
    # In double precision the rows of a softmax need not sum to one closely enough.
    shares = predicted / predicted.sum(axis=1, keepdims=True)
    return float(roc_auc_score(targets, shares, multi_class="ovr"))


def _through_the_product(
    dataset: Dataset, case: Case, rows: SplitRows, keys: MethodKeys
) -> Floats:
    config = configuration(dataset, case, keys)
    priced = price(config, rows.population, dataset.folder)
    logits = rehearse(priced).logits(rows.population.test_rows[0])
    found = np.asarray(Loss(priced.programme.loss).predict(logits).numpy())
    return found if found.shape[1] > 1 else found[:, 0]


def _without_privacy(dataset: Dataset, case: Case, rows: SplitRows) -> Floats:
    if len(rows.table.schema.classes) > 2:  # nothing solves for more than two
        return _through_the_product(dataset, case, rows, _NONE)
    return solve(rows, rows.train, rows.test, case)


def _truth(dataset: Dataset, rows: SplitRows) -> float | None:
    scores = true_scores(dataset, rows)
    if _is_number(rows):
        # On the scale of the encoded targets, whose range is [-1, 1].
        low, high = rows.table.schema.by_name(dataset.target).range or (-1.0, 1.0)
        return _score(rows, 2.0 * (scores[:, 0] - low) / (high - low) - 1.0)
    if scores.shape[1] == 1:
        return _score(rows, scores[:, 0])
    # Codes of classes are places in the declared list, whose first class has no score.
    return _score(rows, probabilities(scores))


def lines(
    name: str, by_seed: Mapping[int, Mapping[str, Any]], epsilons: Sequence[float]
) -> Iterator[dict[str, Any]]:
    """Yield a line for each epsilon of a table, from what was measured by seed."""
    first = next(iter(by_seed.values()))
    for epsilon in epsilons:
        seeds = {
            str(seed): {
                **{key: one[key] for key in ("data", "truth", "none", "additive")},
                "cascade": one["cascade"][str(epsilon)],
            }
            for seed, one in by_seed.items()
        }
        means = {
            key: _mean([one[key] for one in seeds.values()])
            for key in ("cascade", "none", "additive", "truth")
        }
        yield {
            "table": name,
            "factor": group_of(name) if name in SUITE else "public",
            "epsilon": epsilon,
            "score": first["score"],
            "rows": round(fmean(one["rows"] for one in by_seed.values())),
            **means,
            "additive_by": first["additive_by"],
            "seconds": round(fmean(one["seconds"] for one in by_seed.values()), 3),
            "code": code_digest()[:12],
            "seeds": seeds,
        }


def _mean(values: Sequence[float | None]) -> float | None:
    """Return the mean; None if one of the numbers is lost or nobody knows them."""
    known = [value for value in values if value is not None]
    return round(fmean(known), 6) if len(known) == len(values) else None


def stored(path: Path) -> dict[tuple[str, float], dict[str, Any]]:
    """Return the lines of an earlier output, by table and epsilon.

    Raises:
        ConfigError: if it is no such output.
    """
    try:
        rows = [json.loads(text) for text in path.read_text("utf-8").splitlines()]
        found = {(str(row["table"]), float(row["epsilon"])): row for row in rows}
        for row in rows:
            for one in row["seeds"].values():
                _ = one["data"], one["truth"], one["cascade"]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        what = f"`{path}` cannot be read as the output of an earlier call"
        hint = "keep one with `python -m benchmarks.model_development > FILE`"
        raise ConfigError([Problem("--against", what, hint)]) from error
    if not found:
        what = f"`{path}` is empty"
        hint = "the output of this call must go to another file"
        raise ConfigError([Problem("--against", what, hint)])
    return found


def compared(
    line: dict[str, Any], before: Mapping[tuple[str, float], Mapping[str, Any]]
) -> dict[str, Any]:
    """Return a line with its gain over the stored one, paired by seed.

    Guarantees:
        Seeds whose rows or truth differ from the stored ones are not paired.
    """
    old = before.get((line["table"], line["epsilon"]), {}).get("seeds", {})
    gains = [
        own["cascade"] - old[seed]["cascade"]
        for seed, own in line["seeds"].items()
        if seed in old
        and all(own[key] == old[seed][key] for key in ("data", "truth"))
        and own["cascade"] is not None
        and old[seed]["cascade"] is not None
    ]
    found = estimate(gains)
    if found is None:
        return {**line, "gain": None, "half": None, "paired": 0}
    half = None if found.half is None else round(found.half, 6)
    return {**line, "gain": round(found.mean, 6), "half": half, "paired": found.count}


def by_factor(shown: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the mean gain of each factor at each epsilon, in words."""
    groups: dict[tuple[str, float], list[float]] = {}
    for line in shown:
        if line["gain"] is not None:
            place = str(line["factor"]), float(line["epsilon"])
            groups.setdefault(place, []).append(line["gain"])
    for (factor, epsilon), gains in groups.items():
        low, high = min(gains), max(gains)
        yield (
            f"{factor:16} epsilon {epsilon:<4g} {fmean(gains):+.4f} "
            f"({low:+.4f} to {high:+.4f}, {len(gains)} tables)"
        )


def _measured_tables(
    tables: Sequence[str],
    epsilons: Sequence[float],
    seeds: int,
    jobs: int,
    model: str,
) -> Iterator[tuple[str, dict[int, dict[str, Any]]]]:
    """Yield each table when all of its seeds are measured.

    Of one that fails for a seed nothing is yielded; why goes to stderr, and the others
    go on.

    Raises:
        ConfigError: at the end, naming the tables that failed.
    """
    tasks = [(name, seed, epsilons, model) for name in tables for seed in range(seeds)]
    kept: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in tables}
    failed: dict[str, None] = {}
    for (name, seed, *_), answer in in_parallel(measured, tasks, jobs):
        if isinstance(answer, Failure):
            failed[name] = None
            said = answer.trace or answer.words
            print(f"{name}, seed {seed}: {said}", file=sys.stderr)
            continue
        kept[name][seed] = answer
        if len(kept[name]) == seeds:
            yield name, {seed: kept[name][seed] for seed in range(seeds)}
    if failed:
        hint = "the reasons stand above; all other tables are in the output"
        raise ConfigError([Problem(", ".join(failed), "not measured", hint)])


def require_data(tables: Sequence[str]) -> None:
    """Refuse before anything runs if the files of a public table are not there."""
    missing = [
        name
        for name in tables
        if name in DEVELOPMENT and not (data_folder() / name).is_dir()
    ]
    if missing:
        what = f"`{data_folder()}` has no folder {', '.join(missing)}"
        hint = "without public tables: `--tables 'suite-*'`"
        raise ConfigError([Problem(VARIABLE, what, hint)])


def positive_numbers(text: str) -> tuple[float, ...]:
    """Return the epsilons that a comma-separated list states, each once."""
    found = tuple(dict.fromkeys(float(part) for part in text.split(",")))
    if not all(math.isfinite(value) and value > 0.0 for value in found):
        raise ValueError(text)
    return found


def _count(text: str) -> int:
    found = int(text)
    if found < 1:
        raise ValueError(text)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", default=",".join(("suite-*", *DEVELOPMENT)))
    parser.add_argument("--epsilons", type=positive_numbers, default=EPSILONS)
    parser.add_argument("--seeds", type=_count, default=3)
    parser.add_argument("--jobs", type=_count, default=1)
    parser.add_argument("--model", default="logistic")
    parser.add_argument("--against", type=Path)
    given = parser.parse_args(arguments)
    shown: list[dict[str, Any]] = []
    try:
        tables = chosen(given.tables)
        require_data(tables)
        before = None if given.against is None else stored(given.against)
        how = given.seeds, given.jobs, given.model
        every = _measured_tables(tables, given.epsilons, *how)
        for name, by_seed in every:
            for line in lines(name, by_seed, given.epsilons):
                printed = line if before is None else compared(line, before)
                shown.append(printed)
                print(json.dumps(printed), flush=True)
    except LexfedError as error:
        print(f"error: {error}\nhint: {error.hint}", file=sys.stderr)
        return error.exit_code
    if before is not None:
        print("\n".join(by_factor(shown)), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
