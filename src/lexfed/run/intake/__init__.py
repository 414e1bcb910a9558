# SPDX-License-Identifier: Apache-2.0
"""The population of a run: sites with encoded units, and their public facts.

Start with `population`. `column_importance` ranks the columns before any private row is
read. Planning may use `public_facts`, and no other number about private data.
"""
