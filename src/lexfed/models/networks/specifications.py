# SPDX-License-Identifier: Apache-2.0
"""Names of architectures, as in `federation.model`, and their numbers of weights.

Checks and plans need no more of a network; torch is not imported here.
"""

import itertools
import re
from collections.abc import Iterable

KERNEL = 3
"""Width of the convolutions of `cnn`."""

CHANNELS = (8, 16)
"""Their channels."""

LINEAR = ("additive", "logistic", "linear")
"""Models that are one linear layer, for `additive` over the bins of its numbers."""

WIDTHS = re.compile(r"mlp:[1-9]\d{0,5}(,[1-9]\d{0,5})*")


def is_imported(spec: str) -> bool:
    """Return True if a model is a function of a user's module, and not one of ours."""
    return re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*", spec) is not None


def network_weights(model: str, inputs: int = 1, outputs: int = 1) -> int:
    """Return the number of weights of a built-in model; 0 for one that is imported.

    `inputs` is the width of the encoded input, 1 where it is not known yet; `outputs`
    is the number of logits.
    """
    if model == "cnn":
        # Two convolutions, each of which halves the slots, then a linear layer.
        first, second = CHANNELS
        convolutions = (KERNEL + 1) * first + (KERNEL * first + 1) * second
        return convolutions + (second * -(-inputs // 4) + 1) * outputs
    inner: Iterable[int] = ()
    if WIDTHS.fullmatch(model):
        inner = map(int, model.removeprefix("mlp:").split(","))
    elif model not in LINEAR:
        return 0
    layers = itertools.pairwise([inputs, *inner, outputs])
    return sum((into + 1) * out for into, out in layers)
