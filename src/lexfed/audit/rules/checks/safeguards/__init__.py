# SPDX-License-Identifier: Apache-2.0
"""Checks of technical protection: guarantees, security, attack tests, tags.

`guarantees` reads what the log states about differential privacy and trust,
`security` the log's integrity and what is stated about encryption, recovery and
pseudonyms, `design` whether protection was decided before the first round and
kept to, `attacks` which attacks were run, `column_tags` what tags say about
identifiers, dates and places.

They may use `duties`, never the other way round. That an attack was run shows
that it was run, not that the model withstands every other.
"""
