# SPDX-License-Identifier: Apache-2.0
"""The audit log of a run: its entries, its keys, and the receipts of its sites.

Start with `logbook`, which appends the entries of rounds, refusals and the end.
`opening` makes or opens the log of a run folder; `first_entries` holds the
entries before the first round, `governance` those that `[audit]` states.
`receipts` checks participation, `keys` finds the signing keys, `witnesses` the
witnesses to ask for cosignatures.

A round's entry is durable before its release may leave. Entries hold public
facts, prices and digests; without privacy nothing computed from data is hashed.
Others verify these bytes: kinds, fields and idempotency keys of entries must
not change.
"""
