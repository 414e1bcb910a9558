# SPDX-License-Identifier: Apache-2.0
"""The programme of a run: stages, messages and integer sums, shared by both sides.

Sites and coordinator build the same `Programme` from the configuration, and every
query carries its digest. Nothing in it depends on data, so the guarantee of the
whole run is known before it starts. Start with `sequence` and `stage`; `messages`
has `Query`, `Reply` and `Refusal`; `admission` says which releases a step may have.

Every field of `Programme`, `Stage` and the types within them enters the digest and
the JSON form that sites compare (`json_form`), so adding or renaming one changes a
format. So do the names of arrays in a query (`follow_ups`, `site_weights`). The
charged clip covers the grid and the rounding of float sums (`Stage.shrinking`):
change `integer_sums` or `noise_shares` only together with what is charged.
"""
