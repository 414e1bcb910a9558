# SPDX-License-Identifier: Apache-2.0
"""The measurement of each kind of job, in the processes of an evaluation.

`job_kinds.py` maps a job to its measurement and its values to plain JSON: start there.
`attack_jobs.py` runs attacks and audits, `overhead.py` compares runs with and without
each part of protection, by `probes.py`. `setting_search.py` gives every method the same
search, on rows made from the declaration alone. `overhead.ROUNDS` names modules of the
whole package by path: move it along with them.
"""
