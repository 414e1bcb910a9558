# SPDX-License-Identifier: Apache-2.0
"""The commands of `lexfed`, one file each.

    setup/      init, tag, check, policy: from a table to a configuration
    training/   demo, run (also plan and predict), tune, importance, profile
    evidence/   verify, report, log, witness, ledger, audit-privacy
    evaluate/   evaluate: comparisons, attacks, tables and figures
    overlap     overlap: how many people two organisations share
    deploy      deploy: kits, checks, runs between organisations
    site        site, coordinator: the steps of one organisation in them

Rooms do not import each other, except that `deploy` shows profiles as `training` does,
and `site` shows rosters as `deploy` does. A command imports numpy, torch and the like
inside its functions. Names, options and exit codes are promises to scripts.
"""
