# SPDX-License-Identifier: Apache-2.0
"""The evaluation: cost of protection, worth of tailoring, attacks beside proofs.

Start with `suite.py`, which turns tables into jobs, jobs into results and results into
summaries. Everything trains through the code that a run of the product uses. Rooms,
from the top down; imports go in this direction only:

    catalogue     tables of `lexfed evaluate`, each a question with its jobs and targets
    own           `lexfed evaluate CONFIG`: three questions about somebody's own table
    results       figures, CSV files and the Markdown page of an evaluation
    measurement   how each kind of job is measured: training, attack, plan, overhead
    attacks, empirical    attacks with their bounds; lower bounds on epsilon
    harness       jobs, worker processes, summaries, verdicts
    methods       the methods that are compared, by name
    trees         sites of federated trees, one process each
    comparison    one cell of a comparison: case, split, scores, metrics
    datasets      public tables and synthetic ones
"""
