# SPDX-License-Identifier: Apache-2.0
"""Suggested tier and category of every column, with the evidence for them.

Start with `suggestions.py` (categories, types, settings) and `pipeline.py`
(`tag_columns`). Files are read in `sources`, texts in `words`; evidence comes from
`metadata`, `values` (with `recognise`) and `semantics`; `fusion.py` adds it up.

The data lie beside the code: `lexicon/`, `packs/`, `model/`, `concepts.tsv`
and `recognise/names.txt`. Their names and bytes enter the fingerprint that
logs carry: moving a data file, or adding one anywhere in this package, changes
it. A changed lexicon, pack or concept also needs a new training
(`scripts/train-tagger`). Evidence never holds a value.
"""
