# SPDX-License-Identifier: Apache-2.0
"""Plain words and rounding: one place for how numbers and terms are printed.

Rounding works on decimal digits and goes one way, what is spent up, what protects down:
a claim that is rounded to the nearest may be untrue.
"""
