# SPDX-License-Identifier: Apache-2.0
"""`lexfed evaluate CONFIG`: three questions about a user's own table and policy.

What does protection cost, what does tailoring buy, and do attacks agree with the
proofs? Read in this order:

    csv_copy        the rows of a configuration as a table of the evaluation
    policies        the configured policy, and the policies beside it
    questions       one table of jobs for each question, omissions, measurements
    findings        the answers in sentences
    private_rows    the copy of the rows is removed, however the evaluation ends
    evaluation      the course of it, for the command and for Python
    page            one HTML page: the answers, and the figures behind them

Everything is measured on private rows, and no figure has noise of its own. The CSV copy
holds private rows: nobody else may read it, and it is removed at the end.
"""
