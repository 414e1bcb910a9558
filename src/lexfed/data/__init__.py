# SPDX-License-Identifier: Apache-2.0
"""Tables with a public declaration: read, checked, divided among sites, encoded.

Everything a model sees is decided by the declaration of a column, never by
the column's values. Start with `schema.py` (columns, kinds, public ranges)
and `table.py` (rows that match their schema), then `reading`, `encoding.py` and
`people`; `builtin` holds the sources that need no file.

Three things must not change: a schema holds nothing computed from data; which rows a
table has, and in which order, depends on no value of a feature; the dictionaries of
`Schema` and `Encoding` are files of a run, digested and read back strictly.
"""
