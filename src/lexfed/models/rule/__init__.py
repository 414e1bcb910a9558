# SPDX-License-Identifier: Apache-2.0
"""The default rule for linear towers: what is released, and what is made of it.

How strongly a noisy tower may speak decides whether it helps. The rule answers from
public facts and released values alone: `plan` says which releases a tower buys,
`contribution` what one record adds to them, `learn` what the coordinator makes of the
noised sums. Every record's vector has norm at most 1 (scales live in the state), so
the ratio of noise to clip is fixed by the plan (filter F0), whatever is learned.
"""
