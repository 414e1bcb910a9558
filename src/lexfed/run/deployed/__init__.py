# SPDX-License-Identifier: Apache-2.0
"""Runs between organisations: the coordinator has no data, every site keeps its own.

    bundle      the configuration and the files it names, as one digest
    consent     which configurations the people of a site agreed to
    statement   what a site says about itself, signed
    agreement   configuration and statements as a programme: the same at everybody
    site_side   the door of a site: join, plan, begin, and one answer a round
    coordinator_side   joins, plans, and drives the rounds of a run folder

Nothing here knows how bytes travel (`lexfed.federation.channel`).
"""
