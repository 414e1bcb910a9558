# SPDX-License-Identifier: Apache-2.0
"""Sources whose cells have types of their own: Excel workbooks and databases.

`cell_columns.py` turns cells into columns, `workbook_check.py` looks through a workbook
before `excel_files.py` reads it, `database_address.py` says where a database is and
keeps passwords out of files, `database_tables.py` reads a table of one.

A cell of another type than its column, a merged cell or a formula without a result is a
problem, never a value that is missing.
"""
