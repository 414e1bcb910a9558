# SPDX-License-Identifier: Apache-2.0
"""Rules between keys: what a configuration cannot mean, and what it would ignore.

A rule is a function from a `Config` whose keys are fine one by one to findings, remarks
on what is allowed among them (`budget.remark`). It names every key it rests on, so that
a reader is not told about the consequence of a mistake that is already reported. The
order of `RULES`, here and in `examination`, is the order of messages on one line.
Start with `data`.

Rules on trust, sampling and accountants refuse what has no proven price: loosen
one only together with the proof of what would then be charged.
"""
