# SPDX-License-Identifier: Apache-2.0
"""The ways to hold a run to its plan, in words that configurations use too.

The filters themselves are in `filters` and `plan_sums`; this file imports nothing
heavy, so that reading a configuration stays fast.
"""

from typing import Literal

Guarantee = Literal["envelope", "filter"]
"""`envelope`: each release is dominated by a planned one; `filter`: their sums are."""

FilterName = Literal["F0", "F1", "F2"]
"""The filter under which a price holds."""

MOST_SAMPLES = 1000
"""Under a filter noise values may be drawn so many times as often as planned, in more
rounds; the claim's `delta_sampler` pays for all of them."""
