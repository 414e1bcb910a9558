# SPDX-License-Identifier: Apache-2.0
"""The state machines of masked sums: a site, a server and a relay; a round's evidence.

    site           a site, while an epoch is set up and in its rounds
    server_setup   the server while an epoch is set up
    server_rounds  the server in rounds; opens sums, blames bad dealers and holders
    relay          a regional node that adds masked vectors
    round_record   evidence that sites agreed to one sum, as JSON

Start with `site`. The caller passes bytes and decides when to stop waiting. Two rules
carry the privacy of every site and must not be loosened: a refused message changes
nothing, and a site answers once, for one list of survivors. A record has one byte form
(`lexfed-secagg-round-v1`), which verifiers outside of this package read.
"""
