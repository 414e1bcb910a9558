# SPDX-License-Identifier: Apache-2.0
"""Models, their losses, and the clipped sums that training releases.

A site hands a `Batch` to `gradients.clipped_sum` (unit: record), or to `local_update`
and `clip_update` (unit: site), and gets one flat vector. A record's contribution may
depend on that record, on public numbers and on released ones only, to the bit: paddings
and chunks are there for that. Names of arrays in the safetensors file are a format.
"""
