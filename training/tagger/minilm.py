# SPDX-License-Identifier: Apache-2.0
"""The teacher: all-MiniLM-L6-v2, read from a pinned wheel and run with torch.

The wheel is opened as an archive and nothing in it is executed; its weights and its
vocabulary must have the pinned hashes. The network is BERT [arXiv:1810.04805, 3] with
6 layers, 12 heads and width 384; a text's vector is the mean of its pieces' last
states, scaled to length one [arXiv:1908.10084, 3].
"""

import hashlib
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load as load_tensors
from torch.nn import functional
from training.tagger.sources import VOCABULARY_SHA256, WEIGHTS_SHA256

from lexfed.law.tagger.semantics.embeddings import WordPiece
from lexfed.law.tagger.words.normalisation import TEXT_LIMIT, words

WIDTH = 384
LAYERS = 6
HEADS = 12
START, END = 101, 102
LONGEST_TEXT = 96
"""Pieces of a text that are read; schemas describe a column in fewer."""


@dataclass(frozen=True)
class Teacher:
    """The teacher's vocabulary and weights."""

    vocabulary: WordPiece
    weights: Mapping[str, torch.Tensor]

    def encode(self, texts: Sequence[str], batch: int = 256) -> NDArray[np.float32]:
        """Return the vector of every text, of length one."""
        cut = [self.vocabulary.cut_all(words(text, TEXT_LIMIT)) for text in texts]
        return self.encode_pieces(cut, batch)

    def encode_pieces(
        self, texts: Sequence[Sequence[int]], batch: int = 256
    ) -> NDArray[np.float32]:
        """Return the vector of every text given as numbers of pieces."""
        vectors = np.zeros((len(texts), WIDTH), np.float32)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        for first in range(0, len(order), batch):
            chosen = order[first : first + batch]
            ids = [[START, *texts[i][:LONGEST_TEXT], END] for i in chosen]
            length = max(map(len, ids))
            padded = torch.tensor([row + [0] * (length - len(row)) for row in ids])
            kept = torch.tensor(
                [[1.0] * len(row) + [0.0] * (length - len(row)) for row in ids]
            )
            with torch.inference_mode():
                vectors[chosen] = self._forward(padded, kept).numpy()
        return vectors

    def _forward(self, ids: torch.Tensor, kept: torch.Tensor) -> torch.Tensor:
        w = self.weights
        state = (
            w["embeddings.word_embeddings.weight"][ids]
            + w["embeddings.position_embeddings.weight"][: ids.shape[1]]
            + w["embeddings.token_type_embeddings.weight"][0]
        )
        state = self._norm(state, "embeddings.LayerNorm")
        mask = (1.0 - kept)[:, None, None, :] * torch.finfo(torch.float32).min
        for layer in range(LAYERS):
            at = f"encoder.layer.{layer}"
            query, key, value = (
                self._linear(state, f"{at}.attention.self.{part}")
                .reshape(*ids.shape, HEADS, WIDTH // HEADS)
                .transpose(1, 2)
                for part in ("query", "key", "value")
            )
            seen = functional.scaled_dot_product_attention(
                query, key, value, attn_mask=mask
            )
            seen = seen.transpose(1, 2).flatten(2)
            seen = self._linear(seen, f"{at}.attention.output.dense")
            state = self._norm(state + seen, f"{at}.attention.output.LayerNorm")
            inner = functional.gelu(self._linear(state, f"{at}.intermediate.dense"))
            inner = self._linear(inner, f"{at}.output.dense")
            state = self._norm(state + inner, f"{at}.output.LayerNorm")
        pooled = (state * kept[..., None]).sum(1) / kept.sum(1, keepdim=True)
        return functional.normalize(pooled, dim=1)

    def _linear(self, state: torch.Tensor, name: str) -> torch.Tensor:
        w = self.weights
        return functional.linear(state, w[f"{name}.weight"], w[f"{name}.bias"])

    def _norm(self, state: torch.Tensor, name: str) -> torch.Tensor:
        w = self.weights
        return functional.layer_norm(
            state, (WIDTH,), w[f"{name}.weight"], w[f"{name}.bias"], 1e-12
        )


def load_teacher(wheel: Path) -> Teacher:
    """Return the teacher of a wheel that carries its weights.

    Raises:
        SystemExit: if weights or vocabulary have another hash.
    """
    with zipfile.ZipFile(wheel) as archive:
        weights = _read(archive, "model.safetensors", WEIGHTS_SHA256)
        vocabulary = _read(archive, "vocab.txt", VOCABULARY_SHA256)
    pieces = vocabulary.decode("utf-8").removesuffix("\n").split("\n")
    return Teacher(WordPiece(pieces), load_tensors(weights))


def _read(archive: zipfile.ZipFile, name: str, expected: str) -> bytes:
    paths = [path for path in archive.namelist() if path.endswith("/" + name)]
    if len(paths) != 1:
        raise SystemExit(f"error: expected one `{name}` in the wheel, got: {paths}")
    content = archive.read(paths[0])
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise SystemExit(f"error: `{name}` has the hash {found}, expected {expected}")
    return content
