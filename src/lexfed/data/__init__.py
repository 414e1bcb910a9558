# SPDX-License-Identifier: Apache-2.0
"""Tables with a public declaration: read, checked, partitioned, encoded.

Everything a model sees is decided by what was declared about a column, never by
what the column holds. Read `schema.py` first, then `table.py` and `encode.py`.
"""
