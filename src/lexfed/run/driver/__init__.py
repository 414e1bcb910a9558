# SPDX-License-Identifier: Apache-2.0
"""The rounds of a run, driven durably: charge, ask, noise, log, release.

Start with `training_loop`. `open_run` makes the folder of a run or opens that of an
interrupted one, `engine_choice` picks the engine that reaches the sites,
`round_replies` has the participants of a round and their receipts, `site_accounts` the
purses of all data holders. `rehearsal` trains in memory and writes nothing.

The guarantee rests on the order within a round: the journal and the ledgers are charged
before a site is asked, the ledgers are told before anything of the round is in a file,
and its entry is durable before its release becomes the state.
"""
