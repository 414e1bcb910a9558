# SPDX-License-Identifier: Apache-2.0
"""Exact sketches of declared domains: they add up, and hold no noise yet.

    domains     values of declared domains as keys of 64 bits; items per person
    shape       hash functions, and the facts that sketches to be added must share
    counts      Count-Min, Count-Sketch, exact counts of small domains, Bloom filters
    range_tree  counts of intervals, level by level

Start with `shape` and `counts`. Hashes, headers and digests of domains are a format,
since tables of different sites are added: a change needs a new `VERSION` in `shape`.
"""
