# SPDX-License-Identifier: Apache-2.0
"""Commands that lead from a table to a configuration: `init`, `tag`, `check`, `policy`.

Start with `tag`, the largest: it suggests how sensitive columns are and writes what a
person accepts into `lexfed.toml`. It prints, logs and writes no value of a column, and
imports numpy and the standard library alone unless there is a configuration to read: a
test bounds its memory.
"""
