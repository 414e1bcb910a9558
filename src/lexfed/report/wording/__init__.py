# SPDX-License-Identifier: Apache-2.0
"""Plain words and rounding: one place for how numbers and terms are printed.

`plain_words.py` names tiers, units, neighbours and mechanisms, and states what
distributed trust assumes; `rounding.py` prints numbers in decimal digits (what is
spent up, what protects down). Rounding works on decimal digits and goes one way: a
claim that is rounded to the nearest may be untrue. Other rooms print numbers and
terms through this one.
"""
