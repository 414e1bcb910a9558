# SPDX-License-Identifier: Apache-2.0
"""Answers from noised sketches: unbiased values with 95 % intervals.

    intervals     a value with its variance and interval
    noised_cells  hashed tables: counts, totals, products, moments, ratios of two
    range_counts  trees: counts of ranges, and quantiles
    flipped_bits  Bloom filters: sizes of sets, unions and intersections
    common_mass   the common mass of two histograms

Every answer is computed from cells that are already private, so asking costs nothing.
The chance of an interval is over both errors together: the seed of the hash, by which
items share a cell, and the noise (docs/theory/sketches.md).
"""
