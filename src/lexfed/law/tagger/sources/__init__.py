# SPDX-License-Identifier: Apache-2.0
"""Columns from files: lists of columns, data files with a sample, SQL.

Start with `column_files.py`. `sql_schemas.py` reads `CREATE TABLE` statements
of any dialect without a database. Further formats are welcome. Sampled values stay in
memory: they are never logged, printed or sent. Only Parquet needs more than the
standard library.
"""
