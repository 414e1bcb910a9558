# SPDX-License-Identifier: Apache-2.0
"""Answers from noised sketches: unbiased values with 95 % intervals.

Every answer is computed from cells that are already private, so asking costs
nothing. It carries two errors, which its interval covers together: items that
share a cell, and the noise. The chance of an interval is over both, the seed of
the hash and the noise.

Start with `intervals` (`Estimate`) and `noised_cells`, the form in which all
estimators see a table. `item_counts`, `inner_products` and `similarities` read
hashed tables; `consistent_trees` and `range_counts` read trees; `flipped_bits`
reads Bloom filters and `common_mass` histograms. Estimators may be added and
improved freely; each states its variance.

The smallest cell of an item, the classic answer of a Count-Min sketch, is not
offered: the smallest of several noised values is biased by an unknown amount.
"""
