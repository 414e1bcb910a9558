# SPDX-License-Identifier: Apache-2.0
"""Runs that buy knowledge instead of a model: a data profile, or importances.

Start with `profile_purchase` or `importance_purchase`; each has a folder, a log
and a claim like every run, and the training that uses it takes its cost off its
own budget. `profile_population` reads raw values, since a profile looks for the
ranges and lists that training scales by. `profile_pricing` leaves out tiers
that noise would hide, and searches for the smallest budget that is worth its
price.

Persons, sites and test rows are chosen as in training, with coins of their own:
whoever is in both pays for both.
"""
