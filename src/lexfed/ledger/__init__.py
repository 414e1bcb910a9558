# SPDX-License-Identifier: Apache-2.0
"""A site's lasting ledger: everything ever spent on its data set, in one file.

    purse           every charge of a run: both ledgers, in one order, once
    charging        reserve, commit, publish, release, expire
    decisions       another ceiling, or a restore after a loss: only a person decides
    verification    everything computed again from the rows
    bookkeeping/    prices, ceilings, sums, chained rows; no files
    storage/        the SQLite file, its tables and the pin away from it

Start with `purse` for the order of charges, which nobody makes elsewhere, and
with `charging` for the ledger itself. A round is on disk before any answer, and
published before anything can leave: that order is the promise. Kinds and texts
of rows are hashed and last for years: add a kind, never change one.
`docs/guide/ledger.md` says what a ledger holds and what it cannot prevent.
"""
