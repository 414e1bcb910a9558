# SPDX-License-Identifier: Apache-2.0
"""Kits are made here once, and compared with their making at every start.

`new_kits` lets FLARE make the certificates, writes all other files, and drops the
root's key. `startup_check` yields every way in which a kit differs from what was
made, TLS keys and pins included, one line per problem.

A problem line names the file, the deviation, its consequence and the remedy: keep
that form. The check compares whole files with `kit.settings`, so a new setting is
covered without a line here. Never let it pass a value that it does not know.
"""
