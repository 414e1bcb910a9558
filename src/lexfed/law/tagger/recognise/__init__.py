# SPDX-License-Identifier: Apache-2.0
"""Recognisers: rows of a table, and evidence from several columns or many words.

Start with `recogniser.py` (`Recogniser`, `Sample`). Its rows are in `europe.py` and
`overseas.py` (national numbers of people), `contact.py` and `codes.py`, their
arithmetic in `checksums.py`. `people.py`, `cell_words.py`, `measurements.py` and
`table_context.py` look at more than single values.

A new row belongs in one of the tables that `value_evidence.py` joins. A pattern without
a check digit should need its words in the name.
"""
