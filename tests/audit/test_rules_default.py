# SPDX-License-Identifier: Apache-2.0
"""A run in which nobody stated anything, as the demo: honest, and helpful about it.

The words are in `expected/rules.txt`; `LEXFED_UPDATE=1` writes that file anew, to be
read before it is committed.
"""

import os
import re
from pathlib import Path

from lexfed.audit.entries import Party
from lexfed.audit.rules import (
    Judgement,
    VerifierFindings,
    catalogue,
    evaluate,
    score,
    shown_rules,
)
from lexfed.audit.rules.shown_rules import SOFTWARE_ALONE
from support.rules.cases.words import BARE, NO_RECEIPTS
from support.rules.statements import key
from support.rules.world import World, let, put

EXPECTED = Path(__file__).parent / "expected" / "rules.txt"
KEY = r"`\[?audit\b|`document|`privacy-test|`change|`incident|`export|`lexfed|`run\."
# What this version cannot do whatever is stated is said by the rule itself.
BY_ITSELF = {"gdpr.5.2", "gdpr.25.2", "hipaa.audit", "nist.226.trust", "edpb.02-2025"}


def bare() -> tuple[Judgement, ...]:
    world = World()
    sites = tuple(Party(key=key(letter), role="site") for letter in "abc")
    for spoil in (
        let(governance={}, record={}, processor={}, documents={}, incidents=[]),
        let(withdrawals=[], changes=[], exports=[], attacks=[], early_attack=False),
        let(checks=VerifierFindings(log=True, budget=True, quorum=None)),
        put("genesis", parties=sites, witnesses=None),
        put("policy", trust="central", sampling="none", aggregation="none"),
        put("policy", transport="in-process"),
        put("features", jurisdictions=("gdpr",)),
        put("round", aggregation=BARE, participation=NO_RECEIPTS),
    ):
        spoil(world)
    return evaluate(world.facts())


def test_words_of_a_run_that_states_nothing() -> None:
    lines = [f"{j.rule.id}: {j.outcome}\n    {j.why}\n" for j in bare()]
    text = "".join(lines)
    if os.environ.get("LEXFED_UPDATE"):
        EXPECTED.parent.mkdir(exist_ok=True)
        EXPECTED.write_text(text)
    assert text == EXPECTED.read_text()


def test_little_is_claimed_where_nothing_is_stated() -> None:
    found = {j.rule.id: j.outcome for j in bare()}
    claimed = {name for name, outcome in found.items() if outcome == "EVIDENCED"}
    assert claimed == {
        "gdpr.5.2", "gdpr.25.1.config", "gdpr.25.1.enforce", "gdpr.25.2",
        "edpb.02-2025", "aiact.12.1", "nist.226.guarantee", "nist.226.trust",
    }  # fmt: skip
    assert [n for n, outcome in found.items() if outcome == "PARTIAL"] == ["aiact.12.2"]
    assert "DOCUMENT_PRESENT" not in found.values()
    # Without a statement, only what the configuration names leaves a rule out.
    left_out = {name for name, o in found.items() if o == "NOT_APPLICABLE"}
    of_other_laws = {name for name in found if name.startswith(("hipaa", "ccpa"))}
    assert left_out == of_other_laws | {"gdpr.35.11"}
    assert score(bare()).at_ceiling == 9


def test_what_software_shows_by_itself_is_what_no_statement_is_needed_for() -> None:
    """The best run without a statement, with masked sums and logged attacks."""
    world = World()
    sites = tuple(Party(key=key(letter), role="site") for letter in "abc")
    for spoil in (
        let(governance={}, record={}, processor={}, documents={}, incidents=[]),
        let(withdrawals=[], changes=[], exports=[]),
        # Certificates do not look at witnesses, who are other people.
        let(checks=VerifierFindings(log=True, budget=True, quorum=None)),
        put("genesis", parties=sites),
    ):
        spoil(world)
    best = evaluate(world.facts())
    reached = {j.rule.id for j in best if j.counts and j.at_ceiling}
    assert reached == SOFTWARE_ALONE
    shown = shown_rules([j.result for j in best], catalogue())
    assert (shown.software, shown.people) == (shown.most_of_software, 0)


def test_what_software_shows_is_counted_apart() -> None:
    found = bare()
    shown = shown_rules([judgement.result for judgement in found], catalogue())
    assert shown.to_json() == {
        "software": 9, "most_of_software": 12, "people": 0, "most_of_people": 48,
    }  # fmt: skip
    total = score(found)
    assert shown.software + shown.people == total.at_ceiling
    assert shown.most_of_software + shown.most_of_people == total.applicable
    assert str(shown) == (
        "9 of the 12 rules that software can show; 0 of the 48 that need statements "
        "or documents of people"
    )


def test_documents_of_people_count_as_theirs() -> None:
    everything = evaluate(World().facts())
    shown = shown_rules([judgement.result for judgement in everything], catalogue())
    assert shown.people > 30
    assert shown.people == sum(
        j.at_ceiling and j.rule.id not in SOFTWARE_ALONE for j in everything if j.counts
    )


def test_what_is_missing_comes_with_what_would_supply_it() -> None:
    for judgement in bare():
        if judgement.outcome == "NOT_EVIDENCED":
            assert re.search(KEY, judgement.rule.supply), judgement.rule.id
            assert re.search(KEY, judgement.why) or (
                judgement.rule.id in BY_ITSELF | {"gdpr.5.1.f", "gdpr.32.1.c"}
            ), judgement.why
