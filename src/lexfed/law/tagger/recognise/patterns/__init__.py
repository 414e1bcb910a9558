# SPDX-License-Identifier: Apache-2.0
"""Recognisers of single values: a pattern, a check, a category, a weight.

National numbers of people are in `europe_west.py`, `europe_east.py`,
`americas.py` and `asia_africa_oceania.py`, rows of `recogniser.national`; the
others are in `contact.py`, `finance.py`, `medical.py` and `online.py`.

To add one, write its check and a row in one of the tables that
`values/evidence.py` joins. `chance` is how often a random value of that
shape is valid; the number of values that must fit follows from it. A
pattern without a check digit should need its words in the name.
"""
