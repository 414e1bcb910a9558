# SPDX-License-Identifier: Apache-2.0
"""Made-up tables with known factors, on which a rule for models is judged.

A rule that was chosen on the tables it is reported on says little about others. These
tables belong to nobody and are reported nowhere: each differs from a centre in one
factor, so that a rule that gains here and loses there shows why. Their true log-odds
are known, hence the best AUC that any model can have.

    factors.py    the factors of a table
    tables.py     every table, by name
    columns.py    names, kinds, public ranges and lists, tiers
    effects.py    curves by which a column moves the outcome
    rows.py       rows, and the truth behind them

The rows to learn from are those of the factor; `TEST_ROWS` more are there to score on,
so that a table of 150 rows is not judged by 45.
"""

from lexfed.evaluate.datasets.synthetic.suite.factors import TEST_ROWS, Factors
from lexfed.evaluate.datasets.synthetic.suite.rows import facts, frame
from lexfed.evaluate.datasets.synthetic.suite.tables import TABLES

__all__ = ["TABLES", "TEST_ROWS", "Factors", "facts", "frame"]
