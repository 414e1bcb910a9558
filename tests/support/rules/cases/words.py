# SPDX-License-Identifier: Apache-2.0
"""Outcomes in short, and what many rules share."""

from lexfed.audit.entries import Aggregation, Participation
from lexfed.audit.rules import VerifierFindings
from support.rules.statements import ZERO
from support.rules.world import Spoil, put

UP = "UP"
NO = "NOT_EVIDENCED"
OUT = "NOT_APPLICABLE"
PAPER = "DOCUMENT_PRESENT"
PEOPLE = "NOT_MACHINE_CHECKABLE"

NOT_GDPR: Spoil = put("features", jurisdictions=("hipaa",))
NOT_HIPAA: Spoil = put("features", jurisdictions=("gdpr",))
NOT_CCPA: Spoil = put("features", jurisdictions=("gdpr",))
BARE = Aggregation(protocol="none", threshold=None, survivors=None)
FEW = Aggregation(protocol="masking", threshold=3, survivors=2, evidence=ZERO)
UNRECORDED = Aggregation(protocol="masking", threshold=2, survivors=3)
OTHERWISE = Aggregation(protocol="secagg-v1", threshold=2, survivors=3)
UNKNOWN = Aggregation(protocol="masking", threshold=None, survivors=None)
NO_RECEIPTS = Participation(sites=3, receipts="none", digest=None)
TWO_SITES = Participation(sites=2, receipts="open", digest=ZERO)
SECRET = Participation(sites=None, receipts="sealed", digest=ZERO)
NO_QUORUM = VerifierFindings(log=True, budget=True, quorum=None)
NO_BUDGET = VerifierFindings(log=True, budget=None, quorum=True)
WRONG_BUDGET = VerifierFindings(log=True, budget=False, quorum=True)
WRONG_SUMS = VerifierFindings(log=True, budget=True, quorum=True, sums=False)
