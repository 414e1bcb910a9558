# SPDX-License-Identifier: Apache-2.0
"""The folder of a log: appends that survive every crash, and verified reading.

Start with `write_protocol`, which lists the files of a log and the steps of an
append, then `durable_store` (the writer) and `reader`.

The order of the steps is the proof of durability: each is on disk before the
next, and nothing is tried again after a failed fsync. Names and contents of
the files are a format. Entries are plain bytes here.
"""
