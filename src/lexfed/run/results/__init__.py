# SPDX-License-Identifier: Apache-2.0
"""The result of a run: metrics, notes, files, and predictions with the model.

Start with `run_result`, which writes model, claim and `result.json` and reads
them back. `metrics` evaluates a model on test rows, `metrics_file` and
`adaptation_file` hold one line per round, `sketch_notes` puts the findings of a
run's sketches into words, and `prediction` scores new rows with the columns up
to a tier.

Names of fields in `result.json` and of columns in the CSV files are fixed. With
paid metrics no test row is looked at outside the noised histogram. Notes are
derived from released values and public facts only.
"""
