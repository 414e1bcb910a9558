# SPDX-License-Identifier: Apache-2.0
"""Checking a whole run: bytes, signatures, order, budgets, receipts, files, witnesses.

`verify_run` turns a folder into a `Verdict`. Each module holds one group of checks, and
each check is a function of the evidence alone. Neither torch nor a network is needed.
"""

from lexfed.audit.verify.outcome import Check, Status, Verdict
from lexfed.audit.verify.run import verify_run

__all__ = ["Check", "Status", "Verdict", "verify_run"]
