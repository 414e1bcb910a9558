# SPDX-License-Identifier: Apache-2.0
"""Sketches that are only ever seen as a sum, or as counts of overlaps, with noise.

    sum_plan        noise in shares for tables seen as a sum; the agreement of all sites
    packed_tables   noised tables in few bytes
    overlap_plan    overlaps of all pairs of sites: sensitivity, noise, price, estimates
    beaver_triples  products of shared matrices, and a test that shares are bits

Start with `sum_plan` or `overlap_plan`. The digest of a plan is in the context of every
mask and share: its fields are a format. That shares are bits is part of the privacy of
other sites, so the test in `beaver_triples` belongs to the price in `overlap_plan`.
"""
