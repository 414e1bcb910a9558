# SPDX-License-Identifier: Apache-2.0
"""Writes the trained network as the package reads it, and what it says of the probes.

The probes are the first columns of some of the packs. What the network that was just
written answers for them is kept, so that a later change of the code that reads
columns shows.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from training.tagger.corpus import pack_tables
from training.tagger.judge import by_tier
from training.tagger.sources import digest, inputs
from training.tagger.static import Vectors

from lexfed.law.tagger.semantics.features import FeatureLayout
from lexfed.law.tagger.semantics.network import (
    INDEX,
    category_probabilities,
    read_network,
)
from lexfed.law.tagger.suggestions import CATEGORIES
from lexfed.law.tagger.words.readings import read_tables

EVERY_PACK, FIRST_COLUMNS = 4, 5
NOTICE = """\
The vectors in pieces.npy and words.npy were computed with the weights of
sentence-transformers/all-MiniLM-L6-v2, and pieces.txt is part of its vocabulary.
That model is licensed under the Apache License, Version 2.0.
"""


@dataclass(frozen=True)
class Trained:
    """Everything that is written."""

    parts: tuple[Vectors, Vectors]
    layout: FeatureLayout
    layers: list[tuple[NDArray[np.int8], NDArray[np.float32]]]
    temperature: float
    prior: NDArray[np.float64]
    figures: Mapping[str, Mapping[str, float]]
    columns: int


def write(trained: Trained, folder: Path) -> list[str]:
    """Write the files, and return a line about each."""
    folder.mkdir(parents=True, exist_ok=True)
    before = _outputs_before(folder)
    for name, part in zip(("pieces", "words"), trained.parts, strict=True):
        text = "".join(f"{piece}\n" for piece in part.pieces)
        (folder / f"{name}.txt").write_text(text, "ascii")
        np.save(folder / f"{name}.npy", part.rows)
        np.save(folder / f"{name}-scales.npy", part.scales)
    for number, (weights, scales) in enumerate(trained.layers, 1):
        np.save(folder / f"layer-{number}.npy", weights)
        np.save(folder / f"layer-{number}-scales.npy", scales)
    outputs = {
        path.name: digest(path)
        for path in sorted(folder.iterdir())
        if path.suffix in (".npy", ".txt")
    }
    index = {
        "width": trained.layout.width,
        "temperature": trained.temperature,
        "columns": trained.columns,
        "categories": CATEGORIES,
        "concepts": trained.layout.concepts,
        "roles": trained.layout.roles,
        "prior": [round(float(one), 6) for one in trained.prior],
        "inputs": inputs(),
        "outputs": outputs,
        "figures": trained.figures,
    }
    text = json.dumps(index, indent=1, sort_keys=True)
    (folder / INDEX).write_text(f"{text}\n", "utf-8")
    (folder / "NOTICE").write_text(NOTICE, "ascii")
    return [
        f"{name}: {digest} ({'as before' if before.get(name) == digest else 'new'})"
        for name, digest in outputs.items()
    ]


def _outputs_before(folder: Path) -> Mapping[str, str]:
    index = folder / INDEX
    if not index.is_file():
        return {}
    outputs: Mapping[str, str] = json.loads(index.read_text("utf-8"))["outputs"]
    return outputs


def write_probes(folder: Path, path: Path) -> None:
    """Write some columns and what the network in a folder answers for them."""
    sources = {table.source: table for table in reversed(pack_tables())}
    network = read_network(folder)
    probes = []
    for source in sorted(sources)[::EVERY_PACK]:
        columns = sources[source].columns[:FIRST_COLUMNS]
        tables = read_tables(columns)
        chances = by_tier(category_probabilities(tables, network))
        order = [place for table in tables for place in table.places]
        probes.append(
            {
                "source": source,
                "columns": [
                    [c.table, c.name, c.description, c.dtype]
                    for c in (columns[place] for place in order)
                ],
                "tiers": [[round(float(p), 4) for p in row] for row in chances],
            }
        )
    path.write_text(json.dumps(probes, indent=1, ensure_ascii=False) + "\n", "utf-8")
