# SPDX-License-Identifier: Apache-2.0
"""Answers from noised sketches: unbiased values with 95 % intervals.

Every answer is computed from cells that are already private, so asking costs nothing.
Its interval covers two errors together: items that share a cell, and the noise. The
chance of an interval is over both, the seed of the hash and the noise.

    intervals     a value with its variance and interval
    noised_cells  hashed tables: counts, totals, inner products, moments
    similarities  union, Jaccard, cosine and distance of two hashed tables
    range_counts  trees: counts of ranges, and quantiles
    flipped_bits  Bloom filters: sizes of sets, unions and intersections
    common_mass   the common mass of two histograms

The smallest cell of an item, the classic answer of a Count-Min sketch, is not offered:
the smallest of several noised values is biased by an unknown amount.
"""
