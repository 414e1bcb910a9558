# SPDX-License-Identifier: Apache-2.0
"""Towers: the cascade's model, one tower per tier, and public facts about each.

`cascade` is the model and its file; `shape` is a tower before it has learned anything,
with guesses from public ranges.

Start with `cascade`. Tower t reads slots of its own tier only, and the towers
below are constants while it is trained: Theorem C rests on that. Metadata and
array names of `to_bytes` are a format.
"""
