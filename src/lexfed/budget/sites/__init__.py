# SPDX-License-Identifier: Apache-2.0
"""Sites that differ: budgets of their own, a shared total, weights for overlap.

`profiles` finds how much less a site with a stricter budget takes part, by clip
or by sampling. `shared_total` divides a total epsilon among sites by their
gain. `overlap_weights` counts people at several sites once.

Start with `profiles`. Weights and rates are at most 1, so no site is charged
more than the plan; whatever changes here must keep that.
"""
