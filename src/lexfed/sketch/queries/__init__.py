# SPDX-License-Identifier: Apache-2.0
"""Tables that a run requests from its sites, and the decisions from their counts.

    requested_tables  a table of a programme, the cell of every value, a released table
    refinements       the ends of bins and the prefixes that are requested next
    duplicates        the share of a site's persons that are at other sites
    drift             columns of a model as few cells; do two histograms differ?

Start with `requested_tables`: one person moves a table by the root of its depth at
most, since every value has exactly one cell, and that must stay. The other modules are
functions of released tables alone: anybody can repeat them. The fields of
`RequestedTable` are a format, of a run's programme.
"""
