# SPDX-License-Identifier: Apache-2.0
"""One cell of a comparison: what is equal between methods, the split, scores, metrics.

Read `case.py` first: the two fair comparisons, and which methods may claim an
attribute's epsilon where sites were made from a column; that argument is part of the
proof. `split_rows.py` finds the rows behind the units of a population, `metrics.py` has
the scores of a method and how good they are, `plan_figures.py` the figures of a plan.
"""
