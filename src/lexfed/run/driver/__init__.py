# SPDX-License-Identifier: Apache-2.0
"""The rounds of a run, driven durably: charge, ask, noise, log, release.

Start with `training_loop`. `open_run` makes the folder of a run or opens that of an
interrupted one, `engine_choice` picks the engine that reaches the sites,
`round_replies` has the participants of a round and their receipts, `site_accounts` the
purses of all data holders. `rehearsal` trains in memory, writes nothing, and by itself
charges nobody.
"""
