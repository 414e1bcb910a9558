# SPDX-License-Identifier: Apache-2.0
"""Public tables from the UCI archive and from OpenML, in the form of `LEXFED_DATA`.

Start with `retrieval.py`: download, reshape, count, compare, write. `uci.py` brings
files of the UCI archive into the declared columns, `openml.py` those of OpenML.
Nothing is downloaded without `https` unless a mirror is named. The digests in
`retrieval.PUBLISHED` belong to its spelling of numbers, which must not change.
"""
