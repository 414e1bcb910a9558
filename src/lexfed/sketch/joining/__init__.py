# SPDX-License-Identifier: Apache-2.0
"""The number of people that two organisations share, before they agree to join.

    keys            keys of people, written alike on both sides
    terms           the public agreement: how many people, seed, noise, price
    offered_sketch  one organisation's noised sketch, and the file it leaves in
    comparison      two sketches: intersection, union, Jaccard, shares, intervals
    exact_count     private set intersection: only its size, with noise; its files

Start with `terms` and `offered_sketch`. `keys.FORM` and the two kinds of files are
formats with one byte form each. Callers charge before they add noise or answer.
"""
