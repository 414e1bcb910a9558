# SPDX-License-Identifier: Apache-2.0
"""Numbers in sentences: proven bounds are rounded up, measured ones down.

Means, ends and gains are neither; they are rounded to the nearest.
"""

from collections.abc import Sequence

from lexfed.evaluate.harness.summary import MeanEstimate
from lexfed.report.wording.rounding import round_down_to, round_up_to


def lost_by(gain: MeanEstimate | None, metric: str) -> MeanEstimate | None:
    """Return the loss of a line of the table: less AUC, or more error."""
    if gain is None or metric == "rmse":
        return gain
    return MeanEstimate(-gain.mean, gain.half, gain.count)


def differs(found: MeanEstimate) -> bool:
    """Return True if the interval leaves zero out; one split tells nothing."""
    return found.half is not None and abs(found.mean) > found.half


def amount(found: MeanEstimate | None, *, absolute: bool = False) -> str:
    """Return a difference with the half-width of its interval."""
    if found is None:
        return "an unknown amount"
    mean = abs(found.mean) if absolute else found.mean
    text = three(mean)
    return text if found.half is None else f"{text} ± {three(found.half)}"


def splits(found: MeanEstimate) -> str:
    """Return the number of splits, in words."""
    return "one split" if found.count == 1 else f"{found.count} splits"


def percent(found: MeanEstimate) -> str:
    """Return a share as a percentage."""
    return f"{100 * found.mean:.0f} %"


def three(value: float) -> str:
    """Return a number with three decimals.

    >>> three(-0.0071), three(-0.0001)
    ('−0.007', '0.000')
    """
    text = f"{value:.3f}"
    return "0.000" if text == "-0.000" else text.replace("-", "−")


def three_up(value: float) -> str:
    """Return a proven bound, rounded up."""
    return round_up_to(3, value)


def three_down(value: float) -> str:
    """Return a measured lower bound, rounded down."""
    return round_down_to(3, value)


def enumerated(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    >>> enumerated(["a"]), enumerated(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last


def down(value: float) -> str:
    """Return a lower bound with two decimals, rounded down."""
    return round_down_to(2, value)
