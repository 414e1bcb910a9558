# SPDX-License-Identifier: Apache-2.0
"""The semantic network: a column's category from its name and description alone.

    features -> 128 (ReLU, 70 % of the weights zero) -> 64 (ReLU) -> 27 categories

`scripts/train-tagger` makes its files in `model/`: `network.json` has the layout, the
scale of the answers and the digests of the others; pieces and words come with their
8-bit vectors, layers with 8-bit weights, one row for each output. The scale of each row
lies beside it, for a layer with the output's bias in the second column.

A file whose digest is not that in `network.json` is refused: a network that is not
the one that was measured must not speak.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lexfed.arrays import Singles
from lexfed.errors import ConfigError, Problem
from lexfed.law.tagger.semantics.embeddings import Embedding, WordPiece
from lexfed.law.tagger.semantics.features import FeatureLayout, feature_rows
from lexfed.law.tagger.suggestions import CATEGORIES
from lexfed.law.tagger.words.readings import TableReading

LAYERS = 3
INDEX = "network.json"


@dataclass(frozen=True)
class Layer:
    """One layer: the product of weights and inputs, plus a bias."""

    weights: Singles
    bias: Singles

    def outputs(self, rows: Singles) -> Singles:
        """Return the outputs for each row, whatever the other rows are.

        A product of matrices may add in another order for another number of rows, on
        some processors; `einsum` adds each output by itself.
        """
        return np.asarray(np.einsum("ij,kj->ik", rows, self.weights) + self.bias)


@dataclass(frozen=True)
class Network:
    """A trained network, ready to be asked.

    Its outputs are divided by `temperature`, so that they are calibrated; `digest` is
    the SHA-256 of `network.json`, which names all other files.
    """

    embedding: Embedding
    layout: FeatureLayout
    layers: tuple[Layer, ...]
    temperature: float
    digest: str

    def log_probabilities(self, rows: Singles) -> Singles:
        """Return the logarithms of the probabilities of the categories."""
        state = rows
        for layer in self.layers[:-1]:
            state = np.maximum(layer.outputs(state), 0.0)
        outputs = self.layers[-1].outputs(state) / self.temperature
        outputs -= outputs.max(axis=1, keepdims=True)
        total = np.log(np.exp(outputs).sum(axis=1, keepdims=True))
        return np.asarray(outputs - total, np.float32)


def category_probabilities(
    tables: Sequence[TableReading], network: Network | None = None
) -> Singles:
    """Return the probabilities of the 27 categories, one row for each column.

    Rows follow the columns of the tables, table after table. By default the network
    of the package is asked.

    Guarantees:
        Every row is non-negative and sums to one.
        A row depends on the column's own table only.
    """
    asked = load_network() if network is None else network
    rows = feature_rows(tables, asked.embedding, asked.layout)
    return np.exp(asked.log_probabilities(rows))


@cache
def load_network() -> Network:
    """Return the network that comes with the package; it is read once."""
    return read_network(Path(str(files("lexfed.law.tagger") / "model")))


def read_network(folder: Path) -> Network:
    """Return the network in a folder.

    `ConfigError` names a file that is missing, damaged or of another training.
    """
    index, digest = _read_index(folder / INDEX)
    for name, expected in index["outputs"].items():
        if _digest(folder / name) != expected:
            raise _damaged(name, "is not the file that was trained")
    try:
        return Network(
            _embedding(folder),
            FeatureLayout(
                int(index["width"]), tuple(index["concepts"]), tuple(index["roles"])
            ),
            tuple(_layer(folder, number) for number in range(1, LAYERS + 1)),
            float(index["temperature"]),
            digest,
        )
    except (OSError, ValueError, EOFError, KeyError, TypeError) as error:
        raise _damaged(INDEX, "does not fit its files") from error


def _read_index(path: Path) -> tuple[Mapping[str, Any], str]:
    try:
        content = path.read_bytes()
        index = json.loads(content)
        outputs, categories = index["outputs"], index["categories"]
        named = all(Path(name).name == name for name in outputs)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise _damaged(path.name, "cannot be read") from error
    if not named or tuple(categories) != CATEGORIES:
        raise _damaged(path.name, "is of other categories or names other folders")
    return index, hashlib.sha256(content).hexdigest()


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise _damaged(path.name, "cannot be read") from error


def _embedding(folder: Path) -> Embedding:
    rows, scales, known = [], [], []
    for part in ("pieces", "words"):
        known += (folder / f"{part}.txt").read_text("ascii").split()
        rows.append(_array(folder / f"{part}.npy"))
        scales.append(_array(folder / f"{part}-scales.npy"))
    return Embedding(WordPiece(known), np.vstack(rows), np.concatenate(scales))


def _layer(folder: Path, number: int) -> Layer:
    weights = _array(folder / f"layer-{number}.npy")
    scales = _array(folder / f"layer-{number}-scales.npy")
    return Layer(weights * scales[:, :1], np.ascontiguousarray(scales[:, 1]))


def _array(path: Path) -> NDArray[Any]:
    array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return array


def _damaged(name: str, what: str) -> ConfigError:
    where = f"`{name}` of the tagger's network"
    return ConfigError([Problem(where, what, "install lexfed again")])
