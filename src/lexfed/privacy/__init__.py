# SPDX-License-Identifier: Apache-2.0
"""The price of releases: scopes, accountants, noise, filters, ledgers and claims.

Start with `releases` (what leaves the federation and must be paid for) and
`scopes` (Theorem C: what a run proves for a record, a label and an attribute of
a tier).

    accountants/    epsilon and delta of steps, and noise for a budget
    noise/          integer noise, and the grid it lives on
    claim/          what is published about a model
    filters         what holds a run to its plan (Theorem F)
    run_ledger      the spending of one run
    selection, pure_epsilon     prices of other mechanisms

Nothing here knows laws, torch or messages. A theorem stands in the docstring of the
module that relies on it, with its proof there or in `docs/theory/guarantees.md`: change
code and proof together. The JSON of a `Release` is stored in ledgers, logs and claims.
Errors go to the safe side: costs are rounded up, noise multipliers down.
"""
