# SPDX-License-Identifier: Apache-2.0
"""Bookkeeping: exact prices, ceilings, and the sums that rows lead to.

    prices          the cost of a release to each scope, as an exact integer
    ceilings        the most that a scope may ever pay, or pay per period
    book            the sums, and how each kind of row changes them
    rows            rows chained by SHA-256: the source of all sums
    refusals        the words of a ledger that cannot pay

Start with `book`. Units of 2^-60, names of meters and the hashed form of a row are part
of the format.
"""
