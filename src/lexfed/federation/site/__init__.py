# SPDX-License-Identifier: Apache-2.0
"""The site: it answers queries about its own units, or refuses.

`data_holder` has `Site`. For each query it checks the query against the programme,
writes down the round, charges its ledger, and only then computes. This order is the
guarantee: nothing is computed for a refused query, and a charge is durable before the
answer exists.

`contributions` and `table_counts` add up one clipped vector per unit. A new kind of
query goes there; its vector must depend on one unit and on released or public
numbers alone, and its norm must stay within the stage's `clip_to`. `data_holder`
must then know the length of every array that the query carries. `unit_batch` holds
the units of one site, or of all sites where they are simulated together.
"""
