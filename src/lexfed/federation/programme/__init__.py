# SPDX-License-Identifier: Apache-2.0
"""The programme of a run: stages, messages and integer sums, shared by both sides.

Start with `sequence`. Every field of `Programme`, `Stage` and the types within them
enters the digest and the JSON form that sites compare (`json_form`), so adding or
renaming one changes a format. So do the names of arrays in a query (`sketch_schedule`,
`SITE_WEIGHTS`). The charged clip covers the grid and the rounding of float sums
(`Stage.shrinking`): change `integer_sums` only together with what is charged.
"""
