# SPDX-License-Identifier: Apache-2.0
"""The cost of several runs for somebody who is in all of them, and its limits.

Logs hold no digest of the rows, which would confirm guesses about them, so that no log
tells whether two runs are about the same people. The configurations name the data; the
bound is stated for whoever is in all runs, whether or not anybody is.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lexfed.errors import ClaimError
from lexfed.privacy.claim.composition import (
    ComposedGuarantee,
    composed_guarantee,
    composition_obstacles,
)
from lexfed.report.comparison.compared_runs import NOTHING_RELEASED, ComparedRun
from lexfed.report.dossier import Dossier
from lexfed.report.wording.plain_words import NEIGHBOURS, UNITS
from lexfed.report.wording.rounding import count, delta, round_up, round_up_digits

MADE_UP = ("synthetic:", "sklearn:")

PLANNED = (
    "This holds if the number of these runs and their budgets were settled before the "
    "first of them. If a run was added because of what another one gave, only a "
    "ceiling of a lasting ledger bounds the total."
)
OTHERS = (
    "Runs that are not on this page, bought profiles and importances among them, and "
    "every other publication about these people come on top. A site's lasting ledger "
    "knows all that was charged to its data: `lexfed ledger show`."
)
CHOOSING = (
    "Choosing the best run by its metric on held-out rows is outside every guarantee "
    "here: the choice tells something about these rows, and the metric of the best is "
    "too good by chance. `lexfed tune --charged` pays for a search; metrics on public "
    "rows need no payment."
)
OWN_ROWS = (
    "Each run drew its own test rows, by coins that it keeps secret: the test rows of "
    "one are mostly training rows of another."
)


@dataclass(frozen=True)
class JointCost:
    """The price of all runs together.

    Attributes:
        composed: None where the claims have no price together.
        counted: numbers of the runs in it.
        sentence: the price in words, or why there is none.
        left_out: runs that come on top, each with the reason.
        people: what is known about whether the runs are about the same people.
    """

    composed: ComposedGuarantee | None
    counted: tuple[int, ...]
    sentence: str
    left_out: tuple[str, ...]
    people: str


def joint_cost(runs: Sequence[ComparedRun]) -> JointCost:
    """Return the price of runs for somebody who is in all of them.

    Guarantees:
        A run whose cost is not in the price is named, with the reason.
        A run that stands there twice is counted once.
    """
    priced = [run for run in runs if run.claim is not None and run.same_as is None]
    claims = [run.claim for run in priced if run.claim is not None]
    composed, why = None, "no run here has a claim"
    if len(claims) == 1:
        why = f"only run {priced[0].number} has a claim, and its own guarantee"
    elif claims:
        why = "; ".join((*composition_obstacles(claims), *_other_people(priced)))
        try:
            composed = None if why else composed_guarantee(claims)
        except ClaimError as error:
            why = error.message
    return JointCost(
        composed=composed,
        counted=tuple(run.number for run in priced) if composed else (),
        sentence=_sentence(composed, why),
        left_out=tuple(_left_out(runs)),
        people=_people(priced, composed is not None),
    )


def _other_people(runs: Sequence[ComparedRun]) -> list[str]:
    """Return why claims that would compose do not: they count people by other keys."""
    if all(run.claim is not None and run.claim.unit == "client" for run in runs):
        return []
    known = [run.dossier for run in runs if run.dossier is not None]
    if any(dossier.tagged is None for dossier in known):
        return ["the columns of a run were erased, so its key of a person is not known"]
    keys = {d.tagged.schema.person for d in known if d.tagged is not None}
    if len(keys) < 2:
        return []
    named = ", ".join(sorted(f"`{key}`" if key else "each row" for key in keys))
    return [f"they take different things for one person: {named}"]


def _sentence(composed: ComposedGuarantee | None, why: str) -> str:
    if composed is None:
        return f"No ε is stated for these runs together: {why}."
    numbers = f"({round_up(composed.epsilon)}, {delta(composed.delta)})"
    relation = NEIGHBOURS[composed.neighbours]
    if composed.neighbours == "add-remove":
        relation += f" (replace-one: {round_up(composed.replace_one)})"
    by = (
        "by adding up what each states, since noise that followed released values "
        "under filter F1 has no sharper price together"
        if composed.accountant is None
        else f"by {composed.accountant.upper()}"
    )
    more = delta(round_up_digits(composed.delta_sampler))
    return (
        f"(ε, δ) = {numbers} per {UNITS[composed.unit]} under {relation} {by}, trust: "
        f"{composed.trust}; {more} more of δ for errors of the noise sampler."
    )


def _left_out(runs: Sequence[ComparedRun]) -> list[str]:
    found = []
    for run in runs:
        if run.claim is not None or run.same_as is not None:
            continue
        if run.dossier is None:
            why = "nothing in it can be relied on, so its cost is not known"
        elif run.dossier.stamp:
            why = "it is not private: nothing bounds what it tells about anybody in it"
        elif run.trouble.startswith(NOTHING_RELEASED):
            continue
        elif run.dossier.claim is None and run.dossier.state != "unfinished":
            why = "its claim is not at hand"
        else:
            why = f"it is not finished, and spent {_spent(run.dossier)} so far"
        found.append(f"Run {run.number} comes on top: {why}.")
    return found


def _spent(dossier: Dossier) -> str:
    spent = dossier.rounds[-1].entry.epsilon_so_far if dossier.rounds else None
    if spent is None:
        return "nothing that its log states"
    return f"ε {round_up(spent)} in {count(len(dossier.rounds), 'round')}"


def data_name(dossier: Dossier) -> str:
    """Return the data as the configuration names them."""
    table = dossier.table("data")
    sites = table.get("sites")
    files = sites.get("files") if isinstance(sites, dict) else None
    if isinstance(files, list) and files:
        return ", ".join(str(file) for file in files)
    return str(table.get("source", "")) or "not named"


def _people(runs: Sequence[ComparedRun], bounded: bool) -> str:
    names = {data_name(run.dossier) for run in runs if run.dossier is not None}
    if not names:
        return ""
    if all(name.startswith(MADE_UP) for name in names):
        return "Their rows are made up or published: nobody is protected in these runs."
    if len(names) == 1:
        return (
            f"All of them name the same data, `{names.pop()}`: take them as about the "
            "same people. Logs hold no digest of the rows, so only the name is known."
        )
    text = (
        "They name different data. Logs hold no digest of rows or keys, so nobody can "
        "tell from here whether a person is in several. Whoever is in one run only has "
        "that run's own guarantee"
    )
    return f"{text}; whoever is in several has this bound." if bounded else f"{text}."
