# SPDX-License-Identifier: Apache-2.0
"""Did as many sites take part, and agree to each sum, as the log states?

`participation` checks the receipts that sites sign for every round,
`masked_sums` the consents to every opened sum, `noise_shares` the conditions
under which noise in shares is proven (docs/theory/guarantees.md, section 10).

A sum of n sites, c of them colluding, may be opened with t consents where
2 t > n + c, so that no second list of a round can have as many [BIK+17]. The
conditions of `noise_shares` hold together or there is no guarantee: none of
them may become a remark.
"""
