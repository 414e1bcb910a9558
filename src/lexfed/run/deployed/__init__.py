# SPDX-License-Identifier: Apache-2.0
"""Runs between organisations: every site keeps its data, the coordinator has none.

    signed_messages   messages before and after the rounds, and their signatures
    terms             what all must agree on: configuration, statements, programme
    coordinator       joins, plans, and drives the rounds of a run folder
    site              one site: consent, its data, its ledger, one answer a round
    flare_parts       the two classes that a FLARE job names

Start with `terms.agreement`, then `site.door` and `coordinator.epoch_driver`. Neither
side imports the other, and neither knows how bytes travel
(`lexfed.federation.engines.channel`). The name `lexfed.run.deployed.flare_parts` and
its two classes are in the allow-list of every kit that was handed out: they must not
change.
"""
