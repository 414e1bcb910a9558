# SPDX-License-Identifier: Apache-2.0
"""Attacks: membership, attribute inference, and values read off the rounds of a run.

docs/theory/attacks.md says what each attack knows and does. Each returns an
`AttackResult`: its AUC with an interval, beside the largest AUC that the proven
guarantee allows. Read `bounds.py` first: the limits that a proof sets to attacks on one
release and on several; then `auc_intervals.py`. A new attack needs a bound that holds
for its way of scoring people (one release, several, or across releases).
"""
