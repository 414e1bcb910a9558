# SPDX-License-Identifier: Apache-2.0
"""Adaptation: noise, clip and step of a tower, steered by its own releases.

Start with `tower_steering`: `Adaptation` holds the public constants, `Steering`
the state of one tower. `convergence` and `feedback` are the rules for the
noise, `clip_quantile` is the paid rule for the clip, `plateau` ends a tower
early. `release_signals` measures released vectors, with the noise taken off.

All of it is post-processing of what the tower released. It must stay a function
of that tower's releases alone (Theorem C), without clock or randomness, so that
a continued run goes on as if it had never stopped. Bounds are known before the
first round: they are part of the plan and of its price.
"""
