# SPDX-License-Identifier: Apache-2.0
"""Sketches: small tables of counts that add up, and answer for data nobody may see.

    items       what one person puts in, bounded, from a declared domain
    hashing     where an item goes in each row, and with which sign
    shape       what two sketches must have in common before they are added
    tables      Count-Min, Count-Sketch, and exact counts of small domains
    bloom       which cells are met at all, one hash
    range_tree  counts of intervals, level by level
    estimates   what a noised table says, without bias, with an interval

A table without noise is as private as the data it was built from. Nothing here is
released by itself.
"""
