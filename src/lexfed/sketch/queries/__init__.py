# SPDX-License-Identifier: Apache-2.0
"""Tables that a run requests from its sites, and the decisions from their counts.

    requested_tables  a table of a programme, the cell of every value, a released table
    refinements       the ends of bins and the prefixes that are requested next
    duplicates        the share of a site's persons that are at other sites
    drift             columns of a model as few cells; do two histograms differ?

Start with `requested_tables`. One person moves a requested table by at most the root of
its depth, whatever the values are and whatever ends or prefixes a coordinator sends:
every value has exactly one cell, and that must stay. The other modules are functions of
released tables alone, so they cost nothing and anybody can repeat them.
`RequestedTable` is written into a run's programme: its fields are a format.
"""
