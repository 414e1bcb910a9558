# SPDX-License-Identifier: Apache-2.0
"""Public tables from the UCI archive and from OpenML, in the form of `LEXFED_DATA`.

Start with `retrieval.py`: download, reshape, count, compare, write. `uci.py` and
`openml.py` bring files of the archives into the declared columns. The digests in
`retrieval.PUBLISHED` belong to its spelling of numbers, which must not change.
"""
