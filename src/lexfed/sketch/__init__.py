# SPDX-License-Identifier: Apache-2.0
"""Sketches: small tables of counts that add up, and answer for data nobody may see.

    items       values of declared domains, as keys; persons: how many of each person
    hashing     where an item goes in each row, and with which sign
    shape       what two sketches must have in common before they are added
    tables      Count-Min, Count-Sketch, and exact counts of small domains
    bloom       which cells are met at all, one hash
    range_tree  counts of intervals, level by level

    sensitivity  how far one person moves a sketch
    noised       a sketch that may leave, and what it is charged; noise_shares: in sums
    cadence      how often it gets new noise; running_sums: in every round, by a tree
    laplace      the same with pure epsilon; randomised_response: bits of Bloom filters
    estimates    what a noised table says, without bias, with an interval
    sharing      sums and overlaps that are only opened with noise

    asked       tables that a run asks for; cells: where a value falls
    following   what is asked next, from what was released
    profile     what released tables say about columns and sites

A table without noise is as private as the data it was built from. Nothing here is
released by itself.
"""
