# SPDX-License-Identifier: Apache-2.0
"""The population of a run: sites with encoded units, and their public facts.

Start with `population`, which reads, tags, caps, encodes and splits the data of
a configuration. `column_importance` finds out before any private row is read
how useful columns are, so that those left out are not read at all. `coins`
keeps the secret random choice of who is for training, and at which site.

Planning may use `public_facts` and `public_size`, and no other number about
private data: whatever is added there is treated as known to everybody.
"""
