# SPDX-License-Identifier: Apache-2.0
"""The default rule for towers: what is released, and what is made of it.

How strongly a noisy tower may speak decides whether it helps. The rule answers
from public facts and released values alone: `purchases` says which releases a
linear tower buys, `contributions` what one record adds to them, `estimates`
what the coordinator makes of the noised sums, `state` what is known between
rounds, `network_part` how a network learns what the linear part leaves
unexplained.

Start with `purchases`. Every record's vector has norm at most 1 (scales live in
the state), so the ratio of noise to clip is fixed by the plan (filter F0),
whatever is learned. Only `contributions` sees data. Constants may be tuned;
results change with them, guarantees do not.
"""
