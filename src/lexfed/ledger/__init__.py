# SPDX-License-Identifier: Apache-2.0
"""A site's lasting ledger: everything ever spent on its data set, in one file.

    prices      what a release costs each scope, as an exact integer
    ceilings    how much a scope may ever pay, or pay per period
    book        the sums, and how each kind of row changes them
    rows        the chained rows from which everything can be rebuilt
    database    the SQLite file, its transactions and its faults
    tables      the sums as tables, so that no operation reads the whole chain
    pins        the last row we wrote, remembered away from the file
    upgrade     files of the first version, and what they do not say
    opening     is a file ours, whole, and not older than its pin?
    lasting     reserve, commit, publish, release, expire
    decisions   ceilings, which change by decision only
    verify      everything computed again from the rows
    restore     going on after a disk was lost

`docs/ledger.md` says what it holds and what it cannot prevent.
"""
