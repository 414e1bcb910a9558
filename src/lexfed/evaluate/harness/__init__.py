# SPDX-License-Identifier: Apache-2.0
"""Jobs, their results, and the tables that summarise them.

Start with `tables.py`: a measurement with the key of its result, and a question with
its jobs and targets. `workers.py` runs jobs in processes, `machine.py` refuses what
would not fit into memory, `summary.py` averages over seeds and compares with targets,
`paired_lines.py` makes lines that are more than means. Nothing here knows how a job is
measured (`measurement`).
"""
