# SPDX-License-Identifier: Apache-2.0
"""One site of `boosted-federated`: a process that holds this site's rows and no others.

`python -m lexfed.evaluate.trees.site` reads from its input two blocks: an order in JSON
(settings of LightGBM, places of categories, number of sites, which of them it is) and
three arrays in NumPy's form: bins, inputs, targets. It trains with the other sites over
its input and output, and ends with one block: the model as text, or nothing if another
site is the one to answer. The end of its input means that whoever started it is gone.
"""

import json
import logging
import os
import sys
from ctypes import CDLL
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from lexfed.evaluate.trees.network import PipedNetwork, read_blocks, write_blocks

# LightGBM loads these where they are installed, and needs none to train.
_BESIDE = (
    *("cffi", "dask", "datatable", "graphviz", "matplotlib"),
    *("pandas", "pyarrow", "sklearn"),
)


def main(source: IO[bytes], sink: IO[bytes]) -> int:
    """Train this site's part and return the status to exit with."""
    head, body = read_blocks(source)
    order, arrays = json.loads(head), np.load(BytesIO(body))
    _load_openmp()
    import lightgbm

    # Its warnings are not the reason if a site fails; its errors come as such.
    quiet = logging.getLogger("lightgbm")
    quiet.setLevel(logging.CRITICAL)
    lightgbm.register_logger(quiet)
    network = PipedNetwork(order["site"], source, sink)
    try:
        model = _trained(lightgbm, order, network, *arrays.values())
    except lightgbm.basic.LightGBMError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    write_blocks(sink, [model.encode() if order["site"] == 0 else b""])
    return 0


def _trained(
    library: Any,
    order: dict[str, Any],
    network: PipedNetwork,
    bins: Any,
    inputs: Any,
    targets: Any,
) -> str:
    settings, places = order["settings"], order["categories"]
    # Bins come from declarations, so they are the same at all sites and no site tells
    # the others where its values lie.
    alike = {"min_data_in_bin": 1, "feature_pre_filter": False, "verbosity": -1}
    public = library.Dataset(
        bins, np.zeros(len(bins)), categorical_feature=places, params=alike
    ).construct()
    rows = library.Dataset(
        inputs, targets, reference=public, categorical_feature=places, params=alike
    )
    # Not earlier: sites that have joined would make the bins together.
    if order["sites"] > 1:
        network.join(library.basic._LIB, order["sites"])
        together = {"tree_learner": "data", "num_machines": order["sites"]}
        settings = {**settings, **together, "pre_partition": True}
    return str(library.train(settings, rows).model_to_string())


def _load_openmp() -> None:
    """Load the OpenMP of torch: LightGBM's wheel has none, and machines may not."""
    torch = find_spec("torch")
    for folder in torch.submodule_search_locations or () if torch else ():
        for library in Path(folder).glob("lib/libgomp.so.1"):
            CDLL(str(library))


if __name__ == "__main__":
    sys.modules.update(dict.fromkeys(_BESIDE))  # type: ignore[arg-type]
    # What a library prints must not stand between the blocks.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.exit(main(sys.stdin.buffer, answers))
