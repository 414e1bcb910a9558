# SPDX-License-Identifier: Apache-2.0
"""The commands `lexfed joining`: how many people two organisations share.

`group` puts them together. `sketches` has `sketch` and `compare`, which need no trust
in the other side; `exact_counts` has `ask`, `answer` and `open`, by private set
intersection, for a side that follows the protocol. `exchanged_files` makes new
files and reads those of others, up to a bound.

An output file is claimed before anything is charged, so that nothing is paid for a
result that cannot be written. Secrets are written for their owner alone.
"""
