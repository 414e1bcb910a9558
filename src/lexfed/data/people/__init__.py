# SPDX-License-Identifier: Apache-2.0
"""Rows by the person they are about: lots, test split, sites, caps, units.

`lots.py` gives each person a secret number and holds people back by it,
`site_partition.py` deals people out by it, and `unit_blocks.py` bounds the rows of one
person and groups them into the units that training clips.

The proofs need that one person's presence moves no other person
(docs/theory/guarantees.md, Lemma 4): a choice may depend on a person's own key and
on the order of rows, never on who else is there. The one exception, dealing
by label in `site_partition.py`, is for experiments and says so. Lot keys are
secret and serve one run only.
"""
