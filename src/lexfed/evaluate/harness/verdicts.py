# SPDX-License-Identifier: Apache-2.0
"""Whether a table shows what it was to show; a miss is said as plainly as a hit."""

from dataclasses import dataclass

from lexfed.evaluate.harness.summary import MeanEstimate, TableLine
from lexfed.evaluate.harness.tables import ResultTable, TableTarget

GAIN = "gain "
"""What the name of a metric begins with if the gain over `against` is meant."""


@dataclass(frozen=True)
class TargetVerdict:
    """One target beside the worst line that it is about.

    Attributes:
        target: what was asked.
        found: the mean that is furthest from it; None if a line has no number for
            one of its seeds.
        where: which line that is.
        half: half-width of the interval of that mean, where it has one.
    """

    target: TableTarget
    found: float | None
    where: str
    half: float | None = None

    @property
    def reached(self) -> bool:
        """Whether every line's mean reaches it; without a number it is not reached."""
        return self.found is not None and self._holds(self.found)

    @property
    def surely(self) -> bool:
        """Whether it does so with the whole interval of the worst line."""
        half = self.half or 0.0
        return self.found is not None and (
            self._holds(self.found - half) and self._holds(self.found + half)
        )

    @property
    def word(self) -> str:
        """What became of it, in a word or two."""
        if self.reached:
            return "reached" if self.surely else "reached by the mean"
        return "missed"

    def _holds(self, value: float) -> bool:
        low, high = self.target.at_least, self.target.at_most
        return (low is None or value >= low) and (high is None or value <= high)

    def __str__(self) -> str:
        """The verdict in words."""
        low, high = self.target.at_least, self.target.at_most
        asked = f"at least {low:g}" if low is not None else f"at most {high:g}"
        half = f" ± {self.half:.3f}" if self.half else ""
        found = "no number for a seed" if self.found is None else f"{self.found:.3f}"
        return f"{self.target.metric} {asked}; found {found}{half} ({self.where})"


def verdicts(
    table: ResultTable, lines: tuple[TableLine, ...]
) -> tuple[TargetVerdict, ...]:
    """Return what became of every target of a table; nothing if it has no lines."""
    if not lines:
        return ()
    return tuple(_verdict(target, lines) for target in table.targets)


def _verdict(target: TableTarget, lines: tuple[TableLine, ...]) -> TargetVerdict:
    about = [
        one
        for one in lines
        if all(one.facts.get(name) == value for name, value in target.where.items())
    ]
    numbers = [(one, _found(one, target.metric)) for one in about]
    # A mean over the seeds that went well says nothing about the method.
    gaps = (one for one, value in numbers if value is None or value.count < one.seeds)
    missing = next(gaps, None)
    if missing is not None or not numbers:
        return TargetVerdict(
            target, None, _name(missing) if missing else "no such line"
        )
    sign = 1.0 if target.at_least is not None else -1.0
    worst, value = min(
        ((one, value) for one, value in numbers if value is not None),
        key=lambda pair: sign * pair[1].mean,
    )
    return TargetVerdict(target, value.mean, _name(worst), value.half)


def _found(line: TableLine, metric: str) -> MeanEstimate | None:
    if metric.startswith(GAIN):
        return line.gains.get(metric.removeprefix(GAIN))
    return line.values.get(metric)


def _name(line: TableLine) -> str:
    shown = {k: v for k, v in line.facts.items() if v is not None}
    return ", ".join(f"{name} {value}" for name, value in shown.items())
