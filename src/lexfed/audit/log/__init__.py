# SPDX-License-Identifier: Apache-2.0
"""The log of one run: appending typed entries, and reading them as evidence.

Start with `audit_log` (`AuditLog.append`: durable and signed on return, once
per idempotency key, cosigned by witnesses) and `evidence` (`read_evidence`: a
verified log as typed entries, and which key signs from which entry on).
`access` reopens the log of an earlier run, rotates keys and logs exports;
`manual_entries` appends what people state; `logged_files` reads files of a run
folder by their logged digests.

An entry is durable before a witness is asked, and the entry of a round before
its release. A failing witness is reported and never costs a round.
"""
