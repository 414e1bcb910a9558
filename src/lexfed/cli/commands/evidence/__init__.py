# SPDX-License-Identifier: Apache-2.0
"""Commands about what a run leaves behind: its log, claims, documents and ledgers.

Start with `verify`: one line for each claim, and an exit code that scripts can
trust. `report` writes the documents of a run, `log` shows and extends its log,
`witness` serves the logs of others, `ledger` shows what was ever spent on a site's
data, and `audit_privacy` attacks the claims of a configuration.

`report` must not import torch: auditors have none. Changed ceilings and restored
ledgers carry a reason, and `log erase` removes a blob, never an entry.
"""
