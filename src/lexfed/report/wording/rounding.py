# SPDX-License-Identifier: Apache-2.0
"""Printed numbers: spending rounded up, protection rounded down.

Everything here works on decimal digits, so that what is exact in decimal (a budget of
0.3) is not lifted by the binary rest of a double (0.30000000000000004).
"""

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal

_SAME = Context(prec=9, rounding=ROUND_HALF_EVEN)
"""Two doubles that agree in nine digits are the same number to a reader."""


def round_up(value: float | str) -> str:
    """Return a number with two decimals or more, the last digit rounded up.

    >>> [round_up(each) for each in (2.0, 4.2738477, "0.30000000000000004", 0.0123)]
    ['2.00', '4.28', '0.30', '0.013']
    """
    return round_up_all([value])[0]


def round_up_all(values: Iterable[float | str]) -> list[str]:
    """Return numbers of one column with the same decimals, rounded up.

    >>> round_up_all([2.0, 0.0123])
    ['2.000', '0.013']
    """
    exact = [_exact(value) for value in values]
    places = max((_places(value) for value in exact), default=2)
    step = Decimal(1).scaleb(-places)
    return [str(value.quantize(step, ROUND_CEILING)) for value in exact]


def round_down_all(values: Iterable[float | str]) -> list[str]:
    """Return numbers of one column with the same decimals, rounded down.

    The smallest of them keeps three significant digits or more.

    >>> round_down_all([71.16221187264057, 5.303857835786955])
    ['71.16', '5.30']
    """
    exact = [_exact(value) for value in values]
    places = max((2 - value.adjusted() for value in exact if value), default=0)
    step = Decimal(1).scaleb(-max(0, places))
    return [str(value.quantize(step, ROUND_FLOOR)) for value in exact]


def round_up_to(places: int, value: float) -> str:
    """Return a number with that many decimals, rounded up.

    >>> round_up_to(3, 0.51234)
    '0.513'
    """
    return str(_exact(value).quantize(Decimal(1).scaleb(-places), ROUND_CEILING))


def round_down_to(places: int, value: float) -> str:
    """Return a number with that many decimals, rounded down.

    >>> round_down_to(2, 0.999), round_down_to(2, 0.29)
    ('0.99', '0.29')
    """
    return str(_exact(value).quantize(Decimal(1).scaleb(-places), ROUND_FLOOR))


def round_up_digits(value: float, digits: int = 1) -> float:
    """Return a number with that many significant digits, rounded up.

    >>> round_up_digits(3.3273232e-24)
    4e-24
    """
    exact = _exact(value)
    step = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return float(exact.quantize(step, ROUND_CEILING))


def metric(name: str, value: float) -> str:
    """Return a metric with three decimals; errors in units of the target with digits.

    >>> metric("auc", 0.81249), metric("rmse", 12345.678), metric("mae", 0.0123456)
    ('0.812', '12350', '0.01235')
    """
    if name not in ERRORS:
        return f"{value:.3f}"
    exact = Decimal(f"{value:.3e}")
    return f"{exact:.{max(0, 3 - exact.adjusted())}f}"


ERRORS = ("rmse", "mae")
"""Metrics in the units of the target."""


def delta(value: float | str) -> str:
    """Return a small probability the way configurations write it.

    >>> delta(1e-06), delta("2.5e-07"), delta(0.001)
    ('1e-6', '2.5e-7', '0.001')
    """
    text = f"{float(value):g}"
    mantissa, mark, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if mark else text


def factor(epsilon: float | str) -> str:
    """Return exp(epsilon) rounded up, in words where nobody would count it.

    >>> factor(2.0), factor(0.3), factor(40.0)
    ('7.39', '1.35', 'more than a million')
    """
    value = float(epsilon)
    if value > math.log(1e6):
        return "more than a million"
    grown = math.exp(value)
    if grown >= 1000:
        return f"{math.ceil(grown):,}".replace(",", " ")
    return round_up(grown)


def count(number: int, word: str, plural: str = "") -> str:
    """Return a number with its noun.

    >>> count(1, "round"), count(26, "round"), count(2, "entry", "entries")
    ('1 round', '26 rounds', '2 entries')
    """
    return f"{number} {word if number == 1 else plural or word + 's'}"


def _exact(value: float | str) -> Decimal:
    # Through `float`: the repr of a NumPy number is no number.
    return _SAME.create_decimal(value if isinstance(value, str) else repr(float(value)))


def _places(value: Decimal) -> int:
    if value <= 0 or value >= Decimal("0.1"):
        return 2
    return 1 - value.adjusted()
