# SPDX-License-Identifier: Apache-2.0
"""Sketches that nobody sees before they are added, and what comes after.

    shared_plan    what all sites agree on before their tables are shared
    plausible      sums that no honest sites can have made
    packing        noised tables in few bytes

    overlap_plan   overlaps of all pairs of sites: sensitivity, noise, price
    word_products  matrix products modulo 2^32
    beaver         products of shared matrices, and a test that shares are bits
    overlaps       how many keys each two sites have in common, with intervals

Shares, masks and messages are those of `lexfed.secagg`, which this does not know:
`federation.shared_sketches` and `federation.shared_overlaps` bring both together.
"""
