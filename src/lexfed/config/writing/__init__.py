# SPDX-License-Identifier: Apache-2.0
"""Texts of `lexfed.toml` that lexfed writes: first drafts, and edits in place.

`scaffold` writes a draft from a table's header, with a "?" wherever a person must
decide. `edits` changes a file of its author: decisions of `lexfed tag --accept`,
domains that a profile learned, the setting that `lexfed tune` chose.

Every edit keeps comments, order and line ends, and reads its result again: a text
that would not say exactly what was asked for is refused, not written. Keep that
check. A draft takes nothing from the values of a table, only names and kinds.
"""
