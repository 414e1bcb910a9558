# SPDX-License-Identifier: Apache-2.0
"""Makes the network of the tagger from the repository and the teacher's weights.

1. static embeddings of the teacher's pieces and of the lexicon's words;
2. rows of the packs' columns, and of made tables in seven languages;
3. teacher: MiniLM with three heads trained on these rows;
4. student: 128-64, distilled from the mean of the heads, pruned, in 8 bits;
5. the same again, families of packs left out in turn, for the figures and for the
   temperature; and, if a file of labelled columns is given, with the packs that
   share names with it left out, judged on the file. The file is never trained on.
"""

import argparse
import sys
import time
from importlib.resources import files
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from training.tagger.corpus import csv_tables, pack_tables, strangers
from training.tagger.judge import best_temperature, figures
from training.tagger.learn import (
    STUDENT,
    TEACHER,
    Examples,
    Rows,
    fit,
    from_8_bits,
    in_8_bits,
    log_probabilities,
)
from training.tagger.minilm import load_teacher
from training.tagger.output import Trained, write, write_probes
from training.tagger.prepare import Prepared, prepare, teacher_rows
from training.tagger.sources import PROBES
from training.tagger.static import WIDTH, joined, static_vectors
from training.tagger.synthetic import made_tables

from lexfed.law.tagger.metadata.labelling_rules import ROLES
from lexfed.law.tagger.semantics.features import FeatureLayout
from lexfed.law.tagger.suggestions import CATEGORIES
from lexfed.law.tagger.words.lexicon import load_concepts

SEED = 20260
HEADS = 3
MADE = 900
"""Number of made tables."""
MADE_WEIGHT = 0.3
"""What a made column counts against one of a pack."""
BLIND = 0.35
MADE_BLIND = 0.5


def main() -> None:
    """Train, judge and write the network."""
    parser = argparse.ArgumentParser(prog="scripts/train-tagger", description=__doc__)
    parser.add_argument("--wheel", type=Path, required=True)
    parser.add_argument("--columns", type=Path, help="labelled columns to judge on")
    parser.add_argument("--folds", type=int, default=4)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    started = time.process_time()

    def say(text: str) -> None:
        sys.stdout.write(f"[{time.process_time() - started:4.0f} s] {text}\n")
        sys.stdout.flush()

    teacher = load_teacher(given.wheel)
    parts = static_vectors(teacher)
    embedding = joined(parts)
    say(f"embeddings of {len(parts[0].pieces)} pieces, {len(parts[1].pieces)} words")
    concepts = sorted({c for found in load_concepts().values() for c in found})
    layout = FeatureLayout(WIDTH, tuple(concepts), ROLES)
    tables = pack_tables()
    real = prepare(tables, embedding, layout, teacher, BLIND, SEED)
    made = prepare(
        made_tables(tables, MADE, SEED), embedding, layout, teacher, MADE_BLIND, SEED
    )
    say(f"{len(real)} columns of packs, {len(made)} made, {real.seeing.shape[1]} wide")
    judged = _cross_validated(real, made, layout, given.folds)
    temperature = best_temperature(real.labels, judged["student"])
    found = {
        name: figures(real.labels, logs, real.languages)
        for name, logs in judged.items()
    }
    for name, one in found.items():
        say(f"{given.folds} folds by family, {name}: {one}")
    if given.columns:
        file = csv_tables(given.columns)
        kept = {table.family for table in strangers(tables, file)}
        own = np.isin(real.families, sorted(kept))
        theirs = prepare(file, embedding, layout, teacher, BLIND, SEED)
        logs = _judged(real.taken(own), _of(made, kept), theirs, layout)
        for name, answers in logs.items():
            result = figures(theirs.labels, answers, theirs.languages)
            say(f"{given.columns.name}, {name}: {result}")
    heads = _heads(real, made, layout, SEED)
    layers = in_8_bits(_student(real, made, heads, layout, SEED))
    prior = np.bincount(real.labels, minlength=len(CATEGORIES)) + 1.0
    trained = Trained(
        parts, layout, layers, temperature, prior / prior.sum(), found, len(real)
    )
    for line in write(trained, given.out):
        say(line)
    inside = given.out.resolve() == Path(str(files("lexfed.law.tagger") / "model"))
    write_probes(given.out, PROBES if inside else given.out / PROBES.name)


def _heads(
    real: Prepared, made: Prepared, layout: FeatureLayout, seed: int
) -> list[list[tuple[Rows, Rows]]]:
    rows = np.vstack([teacher_rows(real, layout), teacher_rows(made, layout)])
    labels = np.concatenate([real.labels, made.labels])
    weights = _weights(len(real), len(made))
    examples = Examples(rows, labels, weights)
    return [fit(examples, TEACHER, seed + number) for number in range(HEADS)]


def _student(
    real: Prepared,
    made: Prepared,
    heads: list[list[tuple[Rows, Rows]]],
    layout: FeatureLayout,
    seed: int,
) -> list[tuple[Rows, Rows]]:
    soft_real = _mean(heads, teacher_rows(real, layout))
    soft_made = _mean(heads, teacher_rows(made, layout))
    return fit(
        Examples(
            np.vstack([real.seeing, real.blind, made.blind]),
            np.concatenate([real.labels, real.labels, made.labels]),
            _weights(2 * len(real), len(made)),
            np.vstack([soft_real, soft_real, soft_made]),
        ),
        STUDENT,
        seed,
    )


def _cross_validated(
    real: Prepared, made: Prepared, layout: FeatureLayout, folds: int
) -> dict[str, Rows]:
    """Return held-out answers of teacher and student for every column."""
    families = sorted(set(real.families.tolist()))
    np.random.default_rng(SEED).shuffle(families)
    out: dict[str, Rows] = {}
    for fold in range(folds):
        held = families[fold::folds]
        inside = np.isin(real.families, held)
        kept = set(families) - set(held)
        own, theirs = real.taken(~inside), real.taken(inside)
        for name, logs in _judged(own, _of(made, kept), theirs, layout).items():
            out.setdefault(name, np.zeros((len(real), len(CATEGORIES)), np.float32))
            out[name][inside] = logs
    return out


def _judged(
    own: Prepared, made: Prepared, theirs: Prepared, layout: FeatureLayout
) -> dict[str, Rows]:
    """Return what networks trained on one part answer for another."""
    heads = _heads(own, made, layout, SEED)
    student = from_8_bits(in_8_bits(_student(own, made, heads, layout, SEED)))
    return {
        "teacher": _mean(heads, teacher_rows(theirs, layout)),
        "student": log_probabilities(student, theirs.seeing),
        "student, words unknown": log_probabilities(student, theirs.blind),
    }


def _of(made: Prepared, families: set[str]) -> Prepared:
    return made.taken(np.isin(made.families, sorted(families)))


def _weights(real: int, made: int) -> NDArray[np.float32]:
    ones = np.ones(real, np.float32)
    return np.concatenate([ones, np.full(made, MADE_WEIGHT, np.float32)])


def _mean(heads: list[list[tuple[Rows, Rows]]], rows: Rows) -> Rows:
    answers = [log_probabilities(head, rows) for head in heads]
    mean: Rows = np.mean(answers, axis=0, dtype=np.float32)
    return mean


if __name__ == "__main__":
    main()
