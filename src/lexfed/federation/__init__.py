# SPDX-License-Identifier: Apache-2.0
"""Sites and coordinator as state machines over typed messages, and the engines.

Nothing here knows a network or a file, except `flare/`: an engine moves bytes
between `Coordinator` and `Site`, and every rule sits at one of the two ends.

    programme/    everything that is fixed and public before the first round
    planning/     from choices and public facts to a priced programme
    site/         the party that holds data, and its sums
    coordinator/  the party that asks, adds noise and learns
    engines/      moving a round's messages: in one process, over a channel, masked
    sharing/      sketches and overlaps added up by secure aggregation
    flare/        deployments on NVIDIA FLARE

Start with `programme/sequence.py`, then `site/data_holder.py` and
`coordinator/rounds.py`. Site and coordinator talk in messages alone.
"""
