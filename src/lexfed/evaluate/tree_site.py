# SPDX-License-Identifier: Apache-2.0
"""One site of `boosted-federated`: a process that holds this site's rows and no others.

`python -m lexfed.evaluate.tree_site` reads from its input a line of JSON (settings of
LightGBM, places of categories, whether it is the one to answer, how many bytes follow)
and three arrays in NumPy's form: bins, inputs, targets. It trains with the other sites
and, if it is to, writes the model as text. The input stays open; its end means that
whoever started the site is gone.

It stands outside `methods` because that package loads torch, which takes longer than
the trees do.
"""

import json
import logging
import os
import sys
import threading
from ctypes import CDLL
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

PORT_TAKEN = 75
"""Exit status if somebody else listens where the site should: worth another try."""
# LightGBM loads these where they are installed, and needs none to train.
_BESIDE = (
    *("cffi", "dask", "datatable", "graphviz", "matplotlib"),
    *("pandas", "pyarrow", "sklearn"),
)


def main() -> int:
    """Train this site's part and return the status to exit with."""
    source = sys.stdin.buffer
    order = json.loads(source.readline())
    arrays = np.load(BytesIO(source.read(order["bytes"])))
    bins, inputs, targets = arrays.values()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _load_openmp()
    import lightgbm

    # Its words are not part of the answer.
    lightgbm.register_logger(logging.getLogger("lightgbm"))
    try:
        model = _trained(lightgbm, order, bins, inputs, targets)
    except lightgbm.basic.LightGBMError as error:
        sys.stderr.write(f"{error}\n")
        return PORT_TAKEN if "inding port" in str(error) else 1
    if order["answers"]:
        sys.stdout.write(model)
        sys.stdout.flush()
    return 0


def _trained(
    library: Any, order: dict[str, Any], bins: Any, inputs: Any, targets: Any
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
    return str(library.train(settings, rows).model_to_string())


def _load_openmp() -> None:
    """Load the OpenMP of torch: LightGBM's wheel has none, and machines may not."""
    torch = find_spec("torch")
    for folder in torch.submodule_search_locations or () if torch else ():
        for library in Path(folder).glob("lib/libgomp.so.1"):
            CDLL(str(library))


def _end_with_parent() -> None:
    # Past the buffer, whose lock would be in the way of an orderly end.
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    sys.modules.update(dict.fromkeys(_BESIDE))  # type: ignore[arg-type]
    sys.exit(main())
