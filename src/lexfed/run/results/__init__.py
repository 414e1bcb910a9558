# SPDX-License-Identifier: Apache-2.0
"""The result of a run: metrics, notes, files, and predictions with the model.

Start with `run_result`, which writes model, claim and `result.json` and reads them
back. Names of fields in `result.json` and of columns in the CSV files are fixed.
"""
