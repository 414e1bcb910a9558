# SPDX-License-Identifier: Apache-2.0
"""Runs that buy knowledge instead of a model: a data profile, or importances.

Each has a folder, a log and a claim like every run, and the training that uses it takes
its cost off its own budget. `profile_population` reads raw values, since a profile
looks for the ranges and lists that training scales by.

Persons, sites and test rows are chosen as in training, with coins of their own: whoever
is in both pays for both.
"""
