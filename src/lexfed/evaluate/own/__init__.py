# SPDX-License-Identifier: Apache-2.0
"""`lexfed evaluate CONFIG`: somebody's own data and policy, asked three questions.

What does protection cost, what does tailoring buy, and do attacks agree with the
proofs? Read in this order:

    table.py       the rows of a configuration as a table of the evaluation
    policies.py    the configured policy, and what it is compared with
    named.py       the content of files that decide it
    questions.py   one table of jobs for each question, and what is left out
    measures.py    how a job with a policy of its own is measured
    findings.py    the answers in sentences (`attacked.py`: that about attacks;
                   `lines.py`, `numbers.py`: what they are made of)
    parts.py       the figures behind them (`drawings.py`: each with a small drawing)
    page.py        one page for people

Everything is measured on private rows, and no figure has noise of its own.
"""
