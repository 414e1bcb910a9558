# SPDX-License-Identifier: Apache-2.0
"""Tables to evaluate on: nine public ones, and three that are made from a seed.

`preparation.py` turns a name into one ordinary CSV file with its public facts,
a `Dataset`; `variants.py` derives further tables from them. `public` holds the
facts about the published tables, `archives` downloads them, `synthetic`
makes the others. A public table is not part of lexfed: it is read from the
folder that `LEXFED_DATA` names and compared with a checksum. The facts about
its columns stand in `declared/NAME.toml`, written by hand and never read from
the rows.
"""

from lexfed.evaluate.datasets.preparation import Dataset, names, prepare

__all__ = ["Dataset", "names", "prepare"]
