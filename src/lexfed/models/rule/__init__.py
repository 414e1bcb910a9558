# SPDX-License-Identifier: Apache-2.0
"""The default rule for towers: their releases, and the estimates made from them.

Every record's vector has norm at most 1 (scales live in the state), so the ratio of
noise to clip is fixed by the plan (filter F0), whatever is learned. Only
`contributions` sees data. Constants may be tuned; results change with them, guarantees
do not. Start with `purchases`.
"""
