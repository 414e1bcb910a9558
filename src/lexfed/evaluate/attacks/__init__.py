# SPDX-License-Identifier: Apache-2.0
"""Attacks: membership, attribute inference, and values read off the rounds of a run.

Every attack returns an `AttackResult`: its AUC with a 95 % interval, beside the
largest AUC that the proven guarantee allows. Read `bounds.py` first: the limits
that a proof sets to attacks on one release and on several; then
`auc_intervals.py`.

    membership             threshold, calibrated margin and LiRA
    attribute_inference    inversion, CSMIA, imputation: a value from a model
    informed_observer      a value from rounds, where everything else is known
    gradient_inversion     rows from rounds of small sites, where nothing is known

`product_trainer` and `observed_run` run the product for them; `target_value` is
the value that an attack is after. A new attack needs a bound that holds for its
way of scoring people (one release, several, or across releases).
"""

from lexfed.evaluate.attacks.attribute_inference import (
    AttributeInference,
    InferencePeople,
    LabelledRows,
    attack_attribute,
)
from lexfed.evaluate.attacks.auc_intervals import AttackResult
from lexfed.evaluate.attacks.bounds import TradeOff
from lexfed.evaluate.attacks.gradient_inversion import attack_updates, rounds_of
from lexfed.evaluate.attacks.informed_observer import observer_result, play_games
from lexfed.evaluate.attacks.membership import attack_membership
from lexfed.evaluate.attacks.product_runs import ProductTrainer, observe_run
from lexfed.evaluate.attacks.target_value import TargetValue, find_target_value

__all__ = [
    "AttackResult",
    "AttributeInference",
    "InferencePeople",
    "LabelledRows",
    "ProductTrainer",
    "TargetValue",
    "TradeOff",
    "attack_attribute",
    "attack_membership",
    "attack_updates",
    "find_target_value",
    "observe_run",
    "observer_result",
    "play_games",
    "rounds_of",
]
