# SPDX-License-Identifier: Apache-2.0
"""Secure aggregation: the sum of all sites' vectors, without any single vector.

    primitives     a ring, two fields, Shamir's shares, masks from keys
    envelopes      identities, keys of pairs of sites, signed messages
    masks          double masking: terms, cohort, secrets, masks of a round
    mask_sessions  the state machines of a site, a server and a relay; evidence
    shares         vectors shared among several aggregators
    encrypted      sums under homomorphic encryption, with a key holder

Start with `mask_sessions.site` and `mask_sessions.server_rounds`. Nothing here opens a
connection, reads a clock or knows what the vectors mean. Messages, digests and records
are formats that other parties check: their bytes, and the strings that go into hashes
and keys, must stay as they are.
"""
