# SPDX-License-Identifier: Apache-2.0
"""The rounds of a run, driven durably: charge, ask, noise, log, release.

Start with `training_loop`. `open_run` makes the folder of a run or opens that
of an interrupted one, `engine_choice` picks how sites are reached,
`round_replies` says who is in the answers to a round, `site_accounts` charges
the lasting ledgers of the sites. `rehearsal` trains in memory, writes nothing,
and by itself charges nobody.

The order within a round is what the guarantee rests on: the journal and the
ledgers are charged before a site is asked, the ledgers are told before anything
of the round is in a file, and its entry is durable before its release becomes
the state.
"""
