# SPDX-License-Identifier: Apache-2.0
"""Witnesses and time stamps: evidence that a log has only one history.

Start with `cosigner`, the rules by which a witness signs [tlog-witness] and the
folder it must never forget. Checks, their order and their status codes follow
the specification. A witness answers only after its new state is on disk; keep
that order. Other parties are untrusted: every request is bounded in time and size.
"""
