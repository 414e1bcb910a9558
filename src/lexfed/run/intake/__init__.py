# SPDX-License-Identifier: Apache-2.0
"""The population of a run: sites with encoded units, and their public facts.

Start with `population`, which reads, tags, caps, encodes and splits the data of
a configuration. `column_importance` ranks the columns before any private row is
read, so that those left out are not read at all. `coins` keeps the secret keys
that choose the persons for training, and their sites.

Planning may use `public_facts` and `public_size`, and no other number about
private data: whatever is added there is treated as known to everybody.
"""
