# SPDX-License-Identifier: Apache-2.0
"""Tables to evaluate on: nine public ones, and three that are made from a seed.

A public table is not part of lexfed. It is read from the folder that `LEXFED_DATA`
names, compared with a checksum that is kept here, and written again as one ordinary
CSV file. What is public about its columns stands in `declared/NAME.toml`. Read
`kept.py` first (what a declaration holds), then `prepared.py`; `fetch.py` downloads,
`made` makes the synthetic ones.
"""

from lexfed.evaluate.datasets.prepared import Dataset, names, prepare

__all__ = ["Dataset", "names", "prepare"]
