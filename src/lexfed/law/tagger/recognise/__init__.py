# SPDX-License-Identifier: Apache-2.0
"""Recognisers: kinds of values, by shape, check digits and word lists.

Start with `recogniser.py`: how much of a sample must fit, and when chance
cannot explain it. `checksums.py` has the arithmetic of check digits. The other
modules look at a whole column or table: names, sex and age (`people.py`, with
`names.txt`), `places.py`, `record_keys.py`, `body_measures.py`,
`choice_lists.py`, `free_text.py`, `clinical_tables.py`. Recognisers of single
values are rows of tables in `patterns`.

No sentence of evidence may hold a value. This package keeps its name, and
`names.txt` its place: both are part of the tagger's fingerprint.
"""
