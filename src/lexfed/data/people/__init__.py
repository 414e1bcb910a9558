# SPDX-License-Identifier: Apache-2.0
"""Rows by the person they are about: caps, lots, test split, sites, units.

`contribution_caps.py` bounds the rows of one person, `lots.py` gives each
person a secret number, `test_split.py` and `site_partition.py` use it to hold
people back and to deal them out, `key_numbers.py` turns keys into numbers
that agree between sites, and `unit_blocks.py` groups rows into the units that
training clips.

The proofs need that one person's presence moves nobody else
(docs/theory/guarantees.md, Lemma 4): a choice may depend on a person's own key and
on the order of rows, never on who else is there. The one exception, dealing
by label in `site_partition.py`, is for experiments and says so. Lot keys are
secret and serve one run only.
"""
