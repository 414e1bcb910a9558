# SPDX-License-Identifier: Apache-2.0
"""Declarations of the published tables, their checksums and cleaning rules.

Read `declarations.py` first (the keys of a file in `declared/`), then
`source_folder.py` (files and checksums). `cleaning.py` has one rule per table,
each from its documentation; no rule may make the form of a row depend on
another person. `legal_classes.py` compares tiers with the classes that somebody
else gave the columns. Ranges are never taken from rows: a range that followed
them would tell of the person at its end.
"""
