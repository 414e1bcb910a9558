# SPDX-License-Identifier: Apache-2.0
"""Exact sketches of declared domains: they add up, and hold no noise yet.

    domains        values of declared domains, as keys of 64 bits
    person_bounds  how many items of each person are counted
    hashing        the column and the sign of an item in each row
    shape          what two sketches must have in common before they are added
    counts         Count-Min, Count-Sketch, and exact counts of small domains
    bloom_filter   which cells a set of items meets, with one hash
    range_tree     counts of intervals, level by level

Start with `shape` and `counts`. Hashes, headers and digests of domains are a
format: tables of different sites and versions are added cell by cell, so a change
needs a new `VERSION` in `shape`. Privacy never rests on the hash; its seed is
public. How fast items are counted may change freely.
"""
