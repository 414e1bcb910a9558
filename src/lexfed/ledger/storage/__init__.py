# SPDX-License-Identifier: Apache-2.0
"""Storage: the SQLite file of a ledger, and the pin that remembers its last row.

    database    transactions, durability and faults in words
    tables      rows, and sums so that no operation reads the whole chain
    opening     making, opening and upgrading a file: ours, whole, not behind its pin
    pins        the last row and its sums, kept away from the file

Start with `database`. The pin is written after the change is on disk and before it is
acknowledged. The schema, `VERSION` and the fields of a pin are formats.
"""
