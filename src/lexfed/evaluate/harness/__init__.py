# SPDX-License-Identifier: Apache-2.0
"""Jobs, their results on disk, and the tables that summarise them.

Start with `jobs.py` (a measurement and the key of its result) and `tables.py`
(a question, its jobs, its targets). `journal.py` keeps one synced line per
finished job in `results.jsonl`, `workers.py` runs jobs in processes,
`memory.py` refuses what would not fit, `summary.py` averages over seeds,
`verdicts.py` compares with targets. `hindsight.py` and `schedule_gains.py` make
lines that are more than means. The key of a job covers settings, rows,
code and library versions; whatever decides a result has to be in it. Nothing
here knows how a job is measured (`measurement`).
"""
