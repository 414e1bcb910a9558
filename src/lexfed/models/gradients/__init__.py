# SPDX-License-Identifier: Apache-2.0
"""Gradients: the clipped sum over units, the one thing a site computes.

Start with `clipped_sum`. A `batch` is cut into `chunks`; `norms` and `clips`
give the factors, `tap_scaling` applies them, `layer_sum` adds up one layer.
`captured_sum` is the slower road for models without a closed form,
`site_updates` the local training of a whole site. `cut_bits` counts the
contributions that were cut.

`rounding_error` bounds what floating point adds; the accounting charges those
bounds. Whoever changes the size of a chunk, a padding or the order of a sum
changes them too, and must keep a person from moving the rounding of more than a
pair of sites.
"""
