# SPDX-License-Identifier: Apache-2.0
"""The statements of a verified log about a run, before they are put into words.

`dossier.py` builds the `Dossier` that all documents share: start there.
`log_identity.py` and `entry_listing.py` read the log itself. `run_metrics.py`
alone reads files that are not in the log; its numbers are self-reported, and a
missing or damaged file gives none.
"""
