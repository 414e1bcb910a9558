# SPDX-License-Identifier: Apache-2.0
"""`lexfed.toml`: its shape, its rules, and the words for what is wrong with it.

Read `model.py` for the keys, `load.py` for how a file becomes a `Config`.
"""

from lexfed.config.load import (
    ConfigProblem,
    Examination,
    examine,
    examine_file,
    from_mapping,
    load,
    loads,
)
from lexfed.config.model import Config
from lexfed.config.scaffold import demo_config, scaffold

__all__ = [
    "Config",
    "ConfigProblem",
    "Examination",
    "demo_config",
    "examine",
    "examine_file",
    "from_mapping",
    "load",
    "loads",
    "scaffold",
]
