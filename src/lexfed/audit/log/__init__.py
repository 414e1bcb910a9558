# SPDX-License-Identifier: Apache-2.0
"""The log of one run: appending typed entries, and reading them as evidence.

Start with `audit_log` (`AuditLog.append`) and `evidence` (`read_evidence`: a
verified log as typed entries, and which key signs from which entry on).

An entry is durable before a witness is asked, and the entry of a round before
its release. A failing witness is reported and never costs a round.
"""
