# SPDX-License-Identifier: Apache-2.0
"""Attacks: whether somebody was there, what a value was, what an update tells.

Every attack returns an `Attacked`: its AUC with a 95 % interval, beside the largest
AUC that the proven guarantee allows. Read `bounds.py` first: what a proof says about
attacks, over the people of one release and of several.

    membership        threshold and LiRA, on models of `shadows` or `product`
    attributes        inversion, CSMIA, imputation: a value from a model
    observers         a value from rounds, by whoever knows everything else
    inversion         rows from rounds of small sites, by whoever knows nothing
"""

from lexfed.evaluate.attacks.attacked import Attacked
from lexfed.evaluate.attacks.attributes import AttributeFound, Rows, attack_attribute
from lexfed.evaluate.attacks.bounds import TradeOff
from lexfed.evaluate.attacks.inversion import attack_updates
from lexfed.evaluate.attacks.membership import attack_membership
from lexfed.evaluate.attacks.observers import judged, play
from lexfed.evaluate.attacks.product import ProductTrainer
from lexfed.evaluate.attacks.product_rounds import rounds_of
from lexfed.evaluate.attacks.sensitive import Sensitive, sensitive
from lexfed.evaluate.attacks.watched import watched_run

__all__ = [
    "Attacked",
    "AttributeFound",
    "ProductTrainer",
    "Rows",
    "Sensitive",
    "TradeOff",
    "attack_attribute",
    "attack_membership",
    "attack_updates",
    "judged",
    "play",
    "rounds_of",
    "sensitive",
    "watched_run",
]
