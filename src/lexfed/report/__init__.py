# SPDX-License-Identifier: Apache-2.0
"""What people read: the report, documents for compliance, the evidence bundle.

`make` verifies a run and writes everything. `dossier` is what all documents are made
from; `page`, `drafts`, `processing` and `bundle` each make one kind of them. Numbers
come from the verified log, never from files beside it, and carry the entry that proves
them.
"""
