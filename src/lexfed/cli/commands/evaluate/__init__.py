# SPDX-License-Identifier: Apache-2.0
"""The command `lexfed evaluate`: comparisons, attacks, tables and figures.

`group` declares it; `public_tables` runs the published tables, or goes on with them;
`own_data` answers three questions about a configuration of one's own.
"""
