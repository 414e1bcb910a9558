# SPDX-License-Identifier: Apache-2.0
"""Sums of sketches and overlaps of sites, added up by secure aggregation.

`sketch_terms` turns one plan of `lexfed.sketch.sharing` into the terms of masks, of
shares or of encryption. `overlap_protocol` and `overlap_aggregator` count for all
pairs of sites how many people they share, with two aggregators and a dealer; start
with the table of messages in `overlap_protocol`.

Each step of an aggregator is taken once a round and in a fixed order. The bits that
sites share carry no noise of their own, so they are never added up as other vectors
are: only counts leave, with noise. Keep both properties. No command uses this room
yet.
"""
