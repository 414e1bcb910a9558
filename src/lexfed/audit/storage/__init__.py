# SPDX-License-Identifier: Apache-2.0
"""The folder of a log: appends that survive every crash, and verified reading.

Start with `write_protocol`, which lists the steps of an append, then `durable_store`
(the writer) and `reader` (every byte checked against the checkpoint). `layout` says
which files a log may have; `staged_append` and `writer_lock` guard one append and one
writer; `held_folder` follows no links; `tile_comparison` compares stored tiles with the
tree. `blobs` keeps content that entries cite by digest, `pins` the last checkpoint
seen, away from the log.

The order of the steps is the proof of durability: each is on disk before the
next, and nothing is tried again after a failed fsync. Names and contents of
the files are a format. Entries are plain bytes here.
"""
