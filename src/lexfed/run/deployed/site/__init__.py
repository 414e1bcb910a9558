# SPDX-License-Identifier: Apache-2.0
"""One site of a deployment: it answers for its data and checks all it is told.

Start with `door`, which answers every message, and `enrolment`, the steps before the
first round. `consent` keeps which configurations people agreed to, each for one run;
`own_data` reads the site's file, `own_profiles` remembers profiles it paid for,
`run_state` holds what survives a restart. Rounds are paid from both ledgers by
`lexfed.ledger.purse`.

The coordinator hears a code word or a fixed sentence, never a number of a ledger or a
value of a row. The files under `KIT/state` outlive versions of the software; their
names and formats are fixed.
"""
