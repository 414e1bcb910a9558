# SPDX-License-Identifier: Apache-2.0
"""Sites and coordinator as state machines over typed messages, and the engines.

Nothing here knows a network or a file, except `flare/`: an engine moves bytes between
`Coordinator` and `Site`, which talk in messages alone, and every rule sits at one of
the two ends. Start with `programme/sequence.py`, then `site/data_holder.py` and
`coordinator/rounds.py`.
"""
