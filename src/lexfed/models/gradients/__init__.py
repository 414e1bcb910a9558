# SPDX-License-Identifier: Apache-2.0
"""Gradients: the clipped sum over units, the one thing a site computes.

`rounding_error` bounds the error of floating point; the accounting charges those
bounds. Whoever changes the size of a chunk, a padding or the order of a sum changes
them too, and must keep a person from moving the rounding of more than a pair of sites.
Start with `clipped_sum`.
"""
