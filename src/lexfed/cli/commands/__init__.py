# SPDX-License-Identifier: Apache-2.0
"""The commands of `lexfed`, one room per purpose.

    setup/      init, tag, check, policy: from a table to a configuration
    training/   demo, plan, run, predict, tune, importance, profile
    evidence/   verify, report, log, witness, ledger, audit-privacy
    evaluate/   evaluate: comparisons, attacks, tables and figures
    joining/    joining: how many people two organisations share
    deploy/     deploy, coordinator, site: runs between organisations

Rooms do not import each other, except that `deploy` shows profiles as `training`
does. `lexfed --help` reads the declarations of all commands and must not load what
they need to run, so a command imports numpy, torch and the like inside its functions.
Long ones have their declaration in a module of its own (`tag_arguments`, ...).

Names, options and exit codes are promises to scripts.
"""
