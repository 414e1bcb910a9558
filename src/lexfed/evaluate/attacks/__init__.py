# SPDX-License-Identifier: Apache-2.0
"""Attacks: membership, attribute inference, and values read off the rounds of a run.

Every attack returns an `AttackResult`: its AUC with a 95 % interval, beside the largest
AUC that the proven guarantee allows. Read `bounds.py` first: the limits that a proof
sets to attacks on one release and on several; then `auc_intervals.py`.

    membership             threshold, calibrated margin and LiRA
    attribute_inference    inversion, CSMIA, imputation: a value from a model
    informed_observer      a value from rounds, where everything else is known
    gradient_inversion     rows from rounds of small sites, where nothing is known

A new attack needs a bound that holds for its way of scoring people (one release,
several, or across releases).
"""
