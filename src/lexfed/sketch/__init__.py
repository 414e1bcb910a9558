# SPDX-License-Identifier: Apache-2.0
"""Sketches: small tables of counts that add up and answer questions about unseen data.

    tables     exact sketches: Count-Min, Count-Sketch, Bloom filters, range trees
    releases   sensitivity, noise, and the event that is charged
    estimates  unbiased answers with intervals, from cells with noise
    queries    tables that a run requests from sites, and decisions from them
    profile    columns and sites, described by released tables
    joining    how many people two organisations share, before they join
    sharing    sums and overlaps that are only ever opened with noise

Start with `tables.counts` and `releases.noised_sketch`; formulas are in
docs/theory/sketches.md. Nothing here is released by itself: `lexfed.federation` and
`lexfed.run` charge and send. Sensitivities and events may not change without their
proofs.
"""
