# SPDX-License-Identifier: Apache-2.0
"""Runs that buy knowledge instead of a model: a data profile, or importances.

Each has a folder, a log and a claim like every run, and the training that uses it takes
its cost off its own budget. Persons, sites and test rows are chosen as in training,
with coins of their own: whoever is in both pays for both.
"""
