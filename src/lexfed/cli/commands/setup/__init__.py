# SPDX-License-Identifier: Apache-2.0
"""Commands that lead from a table to a configuration: `init`, `tag`, `check`, `policy`.

Start with `tag`, the largest: it suggests how sensitive columns are, and
`tag_acceptance` writes what a person accepts into `lexfed.toml`. `init_profile`
writes a configuration with what a profile has learned; `policy` shows, signs and
checks budget policies.

`lexfed tag` prints, logs and writes no value of a column, and imports numpy and the
standard library alone unless there is a configuration to read: a test bounds its
memory. Columns marked for review are accepted only by name.
"""
