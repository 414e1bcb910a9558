# SPDX-License-Identifier: Apache-2.0
"""Files, arrays and data frames turned into checked tables.

`frames.py` holds columns as a source gave them, `table_files.py` reads CSV
and Parquet, `conversion.py` compares one column with its declaration, and
`checked_tables.py` puts it together: start there. `raw_slots.py` reads values
without clamping, for profiles; `column_guesses.py` guesses kinds for a first
configuration.

A further file format belongs in `table_files.py`. Problems name a file, a
column and a row, never a value; a file that cannot be read in full is
refused, never shortened; nothing but names and kinds leaves
`column_guesses.py`.
"""
