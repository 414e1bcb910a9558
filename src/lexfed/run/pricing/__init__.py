# SPDX-License-Identifier: Apache-2.0
"""From a configuration and its population to a priced run; nothing is spent here.

Start with `price` in `priced_run`. It takes the budget terms of the policy
(`policy_terms`), the budgets of single sites (`site_budgets`), the choices for
training (`training_choices`) and for sketches (`sketch_settings`), has the
programme planned by `lexfed.federation`, and states what it costs together with
earlier runs (`joint_cost`).

The fields of `plan_json` and `claims_json` have fixed names. In a deployment
coordinator and sites each compute the same programme: pricing must depend on
its arguments alone.
"""
