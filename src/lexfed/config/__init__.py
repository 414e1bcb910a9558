# SPDX-License-Identifier: Apache-2.0
"""`lexfed.toml`: its tables, its rules, and the words for what is wrong with it.

    tables/    one frozen class per table, one field per key
    text/      lines of keys, findings in plain words, repair of broken files
    rules/     what ties keys together: functions from a `Config` to findings

Start with `tables/root.py` for the keys and `examination.py` for the way from a
file to a `Config`. A new key needs a field, a rule if it can contradict another, and a
line in docs/reference/configuration.md. Importing this package must stay light: no
torch, pandas or scipy (a test checks it).
"""

from lexfed.config.drafting.first_draft import demo_config, scaffold
from lexfed.config.examination import (
    ConfigProblem,
    examine,
    examine_file,
    from_mapping,
    load,
    loads,
)
from lexfed.config.tables.root import Config

__all__ = [
    "Config",
    "ConfigProblem",
    "demo_config",
    "examine",
    "examine_file",
    "from_mapping",
    "load",
    "loads",
    "scaffold",
]
