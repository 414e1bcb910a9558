# SPDX-License-Identifier: Apache-2.0
"""Rounding against us: a number that is shown is never smaller than what it says.

What is stated is rounded up, and so a budget that was computed is rounded down first:
with as many digits as a stated number, that one cannot come out above it.

>>> up(1.23456789012, digits=4)
1.235
>>> up(2.0)
2.0
>>> down(1.23456789012, digits=4)
1.234
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context

DIGITS = 8
"""Significant digits of a stated epsilon: at most 1e-7 above the computed one."""

TOLERANCE = 1e-9
"""Between the floats of two machines."""


def up(value: float, digits: int = DIGITS) -> float:
    """Return the smallest number with so many digits that is not below the value."""
    context = Context(prec=digits, rounding=ROUND_CEILING)
    # The float of a decimal may be half an ulp below it, which is still above the
    # value unless both are the same float.
    return max(value, float(context.create_decimal_from_float(value)))


def down(value: float, digits: int = DIGITS) -> float:
    """Return the largest number with so many digits that is not above the value."""
    context = Context(prec=digits, rounding=ROUND_FLOOR)
    # By its shortest decimal: what a person wrote in few digits stays what it is.
    return min(value, float(context.create_decimal(repr(value))))
