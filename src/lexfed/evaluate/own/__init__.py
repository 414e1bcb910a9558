# SPDX-License-Identifier: Apache-2.0
"""`lexfed evaluate CONFIG`: three questions about somebody's own table and policy.

What does protection cost, what does tailoring buy, and do attacks agree with
the proofs? Read in this order:

    csv_copy           the rows of a configuration as a table of the evaluation
    policies           the configured policy, and the policies beside it
    referenced_files   hashes of the files that a configuration names
    questions          one table of jobs for each question, and omissions
    job_measurement    the measurement of a job with a policy of its own
    findings           the answers in sentences (`attack_findings`: about attacks)
    figure_tables      the figures behind them, each with an interval drawing
    page               one HTML page

Everything is measured on private rows, and no figure has noise of its own. The
CSV copy holds private rows: nobody else may read it, and it is removed at the
end.
"""
