# SPDX-License-Identifier: Apache-2.0
"""Gradients: the clipped sum over units, the one thing a site computes.

Start with `clipped_sum`. `clipping` gives the factors of a `Batch`'s units and applies
them, `layer_sum` adds up one layer in chunks. `site_updates` is the local training of a
whole site.

`rounding_error` bounds the error of floating point; the accounting charges those
bounds. Whoever changes the size of a chunk, a padding or the order of a sum
changes them too, and must keep a person from moving the rounding of more than a
pair of sites.
"""
