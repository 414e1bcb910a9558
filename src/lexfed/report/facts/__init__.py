# SPDX-License-Identifier: Apache-2.0
"""What a verified log says about a run, before it is put into words.

`dossier.py` builds the `Dossier` that all documents share: start there. The
other modules read one thing each: the identity of the log, its entries, the
planned releases, the policy. `run_metrics.py` alone reads files that are not in
the log; its numbers are self-reported, and a missing or damaged file gives
none.
"""
