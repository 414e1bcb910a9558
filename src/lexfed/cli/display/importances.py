# SPDX-License-Identifier: Apache-2.0
"""Importances of columns in words: where they come from, and what they have cost."""

from lexfed.report.wording.rounding import round_up_to
from lexfed.run import PricedRun

_SHOWN = 4
"""So many columns are named, the most important first."""


def importance_lines(priced: PricedRun) -> list[str]:
    """Return what a plan says about importances; nothing where they play no part."""
    found, config = priced.population.importance, priced.config.budget
    lines = []
    if found.source:
        order = sorted(found.values.items(), key=lambda item: -item[1])
        words = ", ".join(f"{name} {value:.2g}" for name, value in order[:_SHOWN])
        more = ", …" if len(order) > _SHOWN else ""
        lines.append(f"           importance ({found.source}): {words}{more}")
    if found.left_out:
        lines.append(
            "           left out as unimportant, not read: " + ", ".join(found.left_out)
        )
    joint = priced.joint_epsilon
    if joint is not None:
        shown = float(round_up_to(4, joint))
        lines.append(
            f"           together with {priced.paid_before} paid for before the record "
            f"reaches ε {shown:g} of {config.epsilon:g}"
        )
    return lines
