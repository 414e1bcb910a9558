# SPDX-License-Identifier: Apache-2.0
"""Sketches that nobody sees before they are added, and what comes after.

    sum_plan        what all sites agree on before their tables are shared
    plausibility    sums that no honest sites can have made
    packed_tables   noised tables in few bytes

    overlap_plan    overlaps of all pairs of sites: sensitivity, noise, price
    word_products   matrix products modulo 2^32
    beaver_triples  products of shared matrices, and a test that shares are bits
    common_bits     how many keys each two sites have in common, with intervals

Shares, masks and messages are those of `lexfed.secagg`, which this does not know:
`lexfed.federation` brings both together. Start with `sum_plan` or `overlap_plan`.
The digest of a plan is in the context of every mask and share: what it hashes is
a format. That shares are bits is part of the privacy of other sites, so the test
in `beaver_triples` belongs to the price in `overlap_plan`.
"""
