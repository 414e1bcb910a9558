# SPDX-License-Identifier: Apache-2.0
"""The commands of `lexfed`, one room per purpose.

    setup/      init, tag, policy: from a table to a configuration
    training/   demo, run, tune, importance, profile
    evidence/   verify, report, log, witness, ledger, audit-privacy
    evaluate/   evaluate: comparisons, attacks, tables and figures
    joining/    joining: how many people two organisations share
    deploy/     deploy, coordinator, site: runs between organisations

Rooms do not import each other, except that `deploy` shows profiles as `training`
does. This file and those of the rooms import nothing: `lexfed --help` reads the
declarations of all commands, and must not load what they need to run.

`check`, `plan` and `predict` are declared in `lexfed.cli.app` and done in
`lexfed.cli.inputs`. Names, options and exit codes are promises to scripts.
"""
