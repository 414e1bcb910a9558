# SPDX-License-Identifier: Apache-2.0
"""From a configuration and its population to a priced run; nothing is spent here.

Start with `price` in `priced_run`. It takes the budget and the choices that are stated
under a policy (`policy_terms`), the budgets of single sites (`site_budgets`) and the
sketches (`sketch_settings`), and has the programme planned by `lexfed.federation`.

In a deployment coordinator and sites each compute the same programme: pricing must
depend on its arguments alone. The fields of a plan have fixed names.
"""
