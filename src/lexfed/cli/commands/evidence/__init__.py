# SPDX-License-Identifier: Apache-2.0
"""Commands about what a run leaves behind: its log, claims, documents and ledgers.

Start with `verify`: one line for each claim, and an exit code that scripts can trust.
`report` must not import torch: auditors have none. Changed ceilings and restored
ledgers carry a reason, and `log erase` removes a blob, never an entry.
"""
