# SPDX-License-Identifier: Apache-2.0
"""Rounding against us: a number that is shown is never smaller than what it says.

>>> up(1.23456789012, digits=4)
1.235
>>> up(2.0)
2.0
"""

from decimal import ROUND_CEILING, Context

DIGITS = 8
"""Significant digits of a stated epsilon: at most 1e-7 above the computed one."""


def up(value: float, digits: int = DIGITS) -> float:
    """Return the smallest number with so many digits that is not below the value."""
    context = Context(prec=digits, rounding=ROUND_CEILING)
    # The float of a decimal may be half an ulp below it, which is still above the
    # value unless both are the same float.
    return max(value, float(context.create_decimal_from_float(value)))
