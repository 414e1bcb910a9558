# SPDX-License-Identifier: Apache-2.0
"""Filters: what makes a guarantee hold when noise is chosen along the way.

`envelope` has the protocol `Filter` and F0, releases dominated by planned ones,
in their order. `plan_sums` has F1 and F2, costs that add up to at most the
plan's (Theorem F). `names` holds the words that configurations and claims use,
and imports nothing heavy, so that reading a configuration stays fast: keep this
file free of imports too.

Filters are frozen values that decide before a release. The price of the plan is
the guarantee, never the running sum; sums are exact fractions, so the plan
itself passes.
"""
