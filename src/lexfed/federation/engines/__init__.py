# SPDX-License-Identifier: Apache-2.0
"""Engines: they bring a round's query to the sites and return the answers.

`clear_sums` has the `Engine` protocol and the engines whose answers are readable:
`InProcess`, `OverChannel` and `Simulation`. `masked_sums` and `masked_site` are the
two ends of an engine that opens the sum of enough sites and nothing else.
`channel` is the interface to whatever carries bytes between organisations.

A new engine implements `Engine`, or only `Channel` if it carries bytes. It decides
nothing about budgets: a lost round stays charged (`RoundLost`). Under the same seeds
`InProcess` and `Simulation` release the same numbers within one grid step. The four
message tags and the terms of `masked_setting` are the protocol
between versions; both ends derive the terms by themselves.
"""
