# SPDX-License-Identifier: Apache-2.0
"""Tables to evaluate on: nine public ones, others that are made from a seed.

`preparation.py` turns a name into one ordinary CSV file with its public facts, a
`Dataset`, and derives further tables from these. A public table is not part of lexfed:
it is read from the folder that `LEXFED_DATA` names and compared with a checksum
(`source_folder.py`), in the codes that its documentation states (`cleaning.py`).
`archives` downloads such tables, `synthetic` makes the others. The facts about columns
stand in `declared/NAME.toml` (`declarations.py`), written by hand and never read from
the rows.
"""

from lexfed.evaluate.datasets.preparation import (
    Dataset,
    names,
    prepare,
    prepare_variant,
)

__all__ = ["Dataset", "names", "prepare", "prepare_variant"]
