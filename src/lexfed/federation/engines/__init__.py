# SPDX-License-Identifier: Apache-2.0
"""Engines: they bring a round's query to the sites and return the answers.

A new engine implements `Engine` of `clear_sums`, or only `Channel` if it carries bytes.
It decides nothing about budgets: a lost round stays charged (`RoundLost`). Under the
same seeds `InProcess` and `Simulation` release the same numbers within one grid step.
The four message tags and the terms of `masked_setting` are the protocol between
versions; both ends derive the terms by themselves.
"""
