# SPDX-License-Identifier: Apache-2.0
"""One cell of a comparison: what is equal between methods, the split, scores, metrics.

Read `case.py` first: the two fair comparisons (equal epsilon of the record,
equal epsilon of the sensitive attribute) and the configuration that the product
runs for a cell. `split_rows.py` finds the rows behind the units of a
population, `scores.py` is what a method returns, `metrics.py` how good that is.
`site_columns.py` decides which methods may claim an attribute's epsilon where
sites were made from a column; its argument is part of the proof. This package
has no code in its `__init__`: trees load `scores.py` without torch.
"""
