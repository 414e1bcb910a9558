# SPDX-License-Identifier: Apache-2.0
"""Figures, CSV files and the Markdown page, all made from the journal.

Start with `files.py`, which lists what is written; `page.py` is the Markdown,
`extract.py` the lines of tables that documents are written from, `figures.py` chooses
the drawing of each table. Nothing here is edited by hand.
"""
