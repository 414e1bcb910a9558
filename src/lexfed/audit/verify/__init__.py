# SPDX-License-Identifier: Apache-2.0
"""Verification of a whole run: bytes, signatures, order, budgets, sites, files.

`verify_run` turns a run folder into a `RunVerdict`, one line for each claim.
Start with `run_folder`, which lists the claims in the order of trust; `verdict`
holds the lines. `entry_order`, `files` and `outside_evidence` ask whether the
log is whole and genuine, `budgets` and `claim` whether it proves the stated
epsilon, `participation` and `masked_sums` whether as many sites agreed
and took part as stated.

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
