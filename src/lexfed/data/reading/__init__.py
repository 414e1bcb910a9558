# SPDX-License-Identifier: Apache-2.0
"""Files, arrays and data frames turned into checked tables.

`frames.py` holds columns as a source gave them, `table_files.py` reads a file,
`memory_tables.py` data frames of the calling program, `typed_cells` workbooks and
databases, `table_sources.py` any of them, `column_guesses.py` guesses kinds for a first
configuration, `conversion.py` compares one column with its declaration or reads it
unclamped, and `checked_tables.py` puts it together: start there.

Problems name a file, a column and a row, never a value; a file that cannot be read in
full is refused, never shortened; a guess tells nothing but names and kinds.
"""
