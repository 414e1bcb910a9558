# SPDX-License-Identifier: Apache-2.0
"""Budgets: their shares by tier, site and round, and the noise that meets them.

Start with `noise_plan`: from a `Budget` and drafts of releases to priced releases.
`allocation` shares the record's budget among tiers, `noise_schedule` spreads noise over
rounds, `policy` holds the levels of an organisation (`policies/*.toml` are the built-in
ones), `record_classes` gives classes of records a stricter budget (Theorem K), `sites`
has sites with budgets or weights of their own. `column_importance` weighs columns by
public or paid facts. `tower_steering` and `noise_feedback` adapt a tower along the way,
within bounds of the plan.

An allocation rule or a schedule may be added freely: it is priced like any other.
Nothing here may look at data that nobody paid for, and nothing here imports torch.
"""
