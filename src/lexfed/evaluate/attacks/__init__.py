# SPDX-License-Identifier: Apache-2.0
"""Attacks: whether somebody was there, what a value was, what an update tells.

Every attack returns an `Attacked`: its AUC with a 95 % interval, beside the largest
AUC that the proven guarantee allows. Read `bounds.py` first (what a proof says about
attacks), then `membership.py`.
"""

from lexfed.evaluate.attacks.attacked import Attacked
from lexfed.evaluate.attacks.bounds import TradeOff
from lexfed.evaluate.attacks.membership import attack_membership

__all__ = ["Attacked", "TradeOff", "attack_membership"]
