# SPDX-License-Identifier: Apache-2.0
"""The audit log of a run: its opening, its entries, its keys.

Start with `logbook`, which appends the entries of rounds, refusals and the end.
`opening` makes or opens the log, with the entries before the first round; `governance`
has those that `[audit]` states.

Entries hold public facts, prices and digests; without privacy nothing computed from
data is hashed. Others verify these bytes: kinds, fields and idempotency keys of entries
must not change.
"""
