# SPDX-License-Identifier: Apache-2.0
"""Tables that a run requests from its sites, and what their released counts decide.

    requested_tables  a table of a programme, and the table as it was released
    value_cells       the cell of every value; each function is total
    refinements       the ends of bins and the prefixes that are requested next
    watched_columns   columns of a model as few cells
    duplicates        the share of a site's persons that are at other sites
    drift             whether two released histograms differ in their populations

Start with `requested_tables`. One person moves a requested table by at most the
root of its depth, whatever the values are and whatever ends or prefixes a
coordinator sends: `value_cells` gives every value exactly one cell, and that must
stay. `refinements`, `duplicates` and `drift` are functions of released tables
alone, so they cost nothing and anybody can repeat them. `RequestedTable` is
written into a run's programme: its fields are a format.
"""
