# SPDX-License-Identifier: Apache-2.0
"""Searches for good settings: on public data for free, on private data for a price.

Start with `public_search` (no private row is read) or `charged_search` (a
secret number of runs, of which only the best is known). `ledger_charge` enters
a charged search in the lasting ledgers of the sites, `search_record` writes
`tune.json`.

The whole cost of a charged search is on disk before its first run. Nothing
about the runs that lost, nor their number, may leave `charged_search`: no file,
no line, no count.
"""
