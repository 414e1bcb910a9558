# SPDX-License-Identifier: Apache-2.0
"""Verification of a whole run: bytes, signatures, order, budgets, sites, files.

Start with `run_folder`, which lists the claims in the order of trust.

A check is a function of the evidence that returns its finding in words or a
`Remark`, or raises `Unsound`; a new one also needs its line in `CLAIMS` and its
twin in `standalone/verify.py`: tests demand the same claims, in the same order
and with the same status, from both verifiers.
Stated epsilons may be above the computed ones, never below; `TOLERANCE` covers
the floats of two machines and nothing else. Nothing is written, no network is
used, torch is not needed.
"""

from lexfed.audit.verify.run_folder import verify_run
from lexfed.audit.verify.verdict import Check, RunVerdict, Status

__all__ = ["Check", "RunVerdict", "Status", "verify_run"]
