# SPDX-License-Identifier: Apache-2.0
"""Writes the trained network as the package reads it, with digests of all it is from.

`network.json` holds the digests of the inputs: the training code, the lexicon, the
packs, the concepts and the teacher; and those of the files written. Tests compare
both, so a network that no longer belongs to its sources is found out.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from training.tagger.minilm import VOCABULARY_SHA256, WEIGHTS_SHA256
from training.tagger.static import Vectors

from lexfed.law.tagger.column import CATEGORIES
from lexfed.law.tagger.features import Layout
from lexfed.law.tagger.fingerprint import fingerprint
from lexfed.law.tagger.network import INDEX

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Trained:
    """Everything that is written."""

    parts: tuple[Vectors, Vectors]
    layout: Layout
    layers: list[tuple[NDArray[np.int8], NDArray[np.float32]]]
    temperature: float
    prior: NDArray[np.float64]
    figures: Mapping[str, Mapping[str, float]]
    columns: int


def inputs() -> dict[str, str]:
    """Return the digests of everything the network is made from."""
    code = [*sorted((ROOT / "training" / "tagger").glob("*.py"))]
    code.append(ROOT / "scripts" / "train-tagger")
    concepts = ROOT / "src" / "lexfed" / "law" / "tagger" / "concepts.tsv"
    found = fingerprint()
    return {
        "training": hashlib.sha256(
            "".join(f"{path.name} {_digest(path)}\n" for path in code).encode()
        ).hexdigest(),
        "lexicon": found["lexicon"],
        "packs": found["packs"],
        "concepts": _digest(concepts),
        "teacher_weights": WEIGHTS_SHA256,
        "teacher_vocabulary": VOCABULARY_SHA256,
    }


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
        path.name: _digest(path)
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


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
