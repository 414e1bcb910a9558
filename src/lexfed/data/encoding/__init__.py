# SPDX-License-Identifier: Apache-2.0
"""Values of columns turned into model inputs, from public declarations alone.

Start with `slots.py`: each column owns a run of neighbouring slots, and each
slot is a function of that column's value in that row. `scaling.py` maps
numbers to public units and back, `letter_pairs.py` writes texts as pairs of
letters for the sketches that count them.

The isolation of tiers rests on this room: no slot may depend on another
column, another row or anything computed from data. All sites of a run must
number slots and letter pairs alike, so neither order may change.
"""
