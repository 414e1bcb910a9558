# SPDX-License-Identifier: Apache-2.0
"""The population of a run: sites with encoded units, and their public facts.

Start with `population`, which reads, tags, caps, encodes and splits the data of a
configuration. `column_importance` ranks the columns before any private row is read, so
that those left out are not read at all.

Planning may use `public_facts`, and no other number about private data.
"""
