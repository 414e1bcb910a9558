# SPDX-License-Identifier: Apache-2.0
"""Interrupted runs: their charged rounds, damage of the folder, the point to resume.

Start with `recovery`, whose table has the consequence of a crash at each
moment. `journal` reads charged and lost rounds back from `events.jsonl`;
`integrity` compares journal, state, log and site ledgers, and writes nothing.

A folder that a crash left must pass `integrity` at whatever moment it came, and
one that was damaged since must not. A charged round is asked again under the
same charge only if no answer to it can have left a site; otherwise it stays
paid and is lost.
"""
