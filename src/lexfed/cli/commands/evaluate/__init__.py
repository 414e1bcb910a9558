# SPDX-License-Identifier: Apache-2.0
"""The command `lexfed evaluate`: comparisons, attacks, tables and figures.

`group` declares it: its first word may be a configuration, or the command `fetch`,
which downloads a public data set. `public_tables` runs the published tables, or goes on
with them; `own_data` answers three questions about a configuration of one's own.

`private_rows` removes the copy of private rows however the evaluation ends. Change it
only together with its tests: rows that stay behind are a leak.
"""
