# SPDX-License-Identifier: Apache-2.0
"""How many rules software shows, of those that it can, and how many wait for people.

Most rules of the catalogue ask for what only people can state or write: a purpose, a
contract, an assessment. Without those a log shows nothing of them, however well a run
went, so they are counted apart. Neither count says that anything is lawful.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from lexfed.audit.entries.lifecycle import RuleResult
from lexfed.audit.rules.catalogue import RuleCatalogue
from lexfed.audit.rules.evaluation import AT_CEILING

SOFTWARE_ALONE = frozenset(
    {
        "gdpr.5.2", "gdpr.25.1.config", "gdpr.25.1.enforce", "gdpr.25.2",
        "gdpr.32.1.d", "edpb.02-2025", "ico.pets.fl", "hipaa.audit", "ccpa.spi",
        "aiact.12.1", "aiact.12.2", "nist.226.guarantee", "nist.226.trust",
        "iso.27559.8",
    }
)  # fmt: skip
"""Rules that a run reaches the ceiling of with nothing under `[audit]`: by its
configuration, its rounds, secure aggregation, and attacks that are logged. A test
derives the list from what each rule looks for."""


@dataclass(frozen=True)
class ShownRules:
    """Rules at their ceiling and all that count, by who can bring them there."""

    software: int
    most_of_software: int
    people: int
    most_of_people: int

    def __str__(self) -> str:
        return (
            f"{self.software} of the {self.most_of_software} rules that software can "
            f"show; {self.people} of the {self.most_of_people} that need statements or "
            "documents of people"
        )

    def to_json(self) -> dict[str, int]:
        """Return the counts under fixed names."""
        return {
            "software": self.software,
            "most_of_software": self.most_of_software,
            "people": self.people,
            "most_of_people": self.most_of_people,
        }


def shown_rules(results: Iterable[RuleResult], rules: RuleCatalogue) -> ShownRules:
    """Return the counts of a certificate by its catalogue.

    A rule that does not apply, or that no software can check, counts nowhere. One that
    the catalogue does not have is taken for a rule that people must show.
    """
    ceilings = {rule.id: AT_CEILING[rule.ceiling] for rule in rules.rules}
    software: list[bool] = []
    people: list[bool] = []
    for result in results:
        if result.outcome not in ("NOT_APPLICABLE", "NOT_MACHINE_CHECKABLE"):
            alone = result.rule in SOFTWARE_ALONE
            shown = result.outcome == ceilings.get(result.rule)
            (software if alone else people).append(shown)
    return ShownRules(sum(software), len(software), sum(people), len(people))
