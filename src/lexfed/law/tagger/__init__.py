# SPDX-License-Identifier: Apache-2.0
"""Suggested tier and category of every column, with the evidence for them.

Start with `suggestions.py` (categories, types, settings) and `pipeline.py`
(`tag_columns`). `column_files.py` reads files, `words` their texts; evidence comes from
`metadata`, `value_evidence.py` (with `recognise`) and `semantics`; `fusion.py` adds it
up. `proxies.py` reports columns that give away a sensitive one and changes no tier.

The names and bytes of the data beside the code (`lexicon/`, `packs/`, `model/`,
`concepts.tsv`, `recognise/names.txt`) enter the fingerprint that logs carry: moving a
data file, or adding one anywhere in this package, changes it. A changed lexicon, pack
or concept also needs a new training (`scripts/train-tagger`). Sampled values stay in
memory and are never logged, printed or sent; evidence is a category, a weight and a
sentence, never a value and never a number computed from values.
"""
