# SPDX-License-Identifier: Apache-2.0
"""The site: it answers queries about its own units, or refuses.

`data_holder` has `Site`: it checks a query, writes down the round, charges its ledger,
and only then computes. `contributions` and `table_counts` add up one clipped vector per
unit. A new kind of query goes there; its vector must depend on one unit and on released
or public numbers alone, and its norm must stay within the stage's `clip_to`.
`data_holder` must then know the length of every array that the query carries.
"""
