# SPDX-License-Identifier: Apache-2.0
"""The default rule for towers: their releases, and the estimates made from them.

How strongly a noisy tower may speak decides whether it helps. The rule answers
from public facts and released values alone: `purchases` chooses the releases
that a linear tower buys, `contributions` maps one record to its part of them,
`estimates` learns from the noised sums and keeps the state between rounds, and
`network_part` trains a network on what the linear part leaves unexplained.

Start with `purchases`. Every record's vector has norm at most 1 (scales live in
the state), so the ratio of noise to clip is fixed by the plan (filter F0),
whatever is learned. Only `contributions` sees data. Constants may be tuned;
results change with them, guarantees do not.
"""
