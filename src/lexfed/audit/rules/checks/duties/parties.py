# SPDX-License-Identifier: Apache-2.0
"""The parties: their roles, contracts and countries."""

from lexfed.audit.entries import Party
from lexfed.audit.rules.answers import CheckAnswer, met, missing
from lexfed.audit.rules.catalogue import Rule
from lexfed.audit.rules.documents import find_for
from lexfed.audit.rules.facts import LogFacts
from lexfed.audit.vocabulary import EEA

_CONTRACT = "not stated for every site: `audit.parties.NAME.contract`"


def roles(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Everybody has a role, and a contract unless they alone are controller."""
    parties = facts.parties
    if not parties or any(party.legal_role is None for party in parties):
        return missing(
            "not stated for every site: `audit.parties.NAME.role`", *facts.start
        )
    bound = [party for party in parties if party.legal_role != "controller"]
    if any(party.contract is None for party in bound):
        return missing(_CONTRACT, *facts.start)
    return met(
        "everybody has a role and, where one is needed, a contract", *facts.start
    )


def contracts(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every processor, taken as business associate, has a contract."""
    parties = facts.parties
    if not parties or any(party.legal_role is None for party in parties):
        return missing(
            "not stated for every site: `audit.parties.NAME.role`", *facts.start
        )
    bound = [party for party in parties if party.legal_role == "processor"]
    if any(party.contract is None for party in bound):
        return missing(_CONTRACT, *facts.start)
    return met("every business associate has an agreement", *facts.start)


def outside(facts: LogFacts) -> tuple[Party, ...]:
    """Return the parties that are not known to be in the European Economic Area."""
    return tuple(party for party in facts.parties if party.country not in EEA)


def transfers(facts: LogFacts, _: Rule) -> CheckAnswer:
    """Every party outside the European Economic Area has a tool for transfers."""
    abroad = outside(facts)
    if not facts.parties or any(party.country is None for party in abroad):
        return missing(
            "not stated for every site: `audit.parties.NAME.country`", *facts.start
        )
    if any(party.transfer_tool is None for party in abroad):
        why = "not stated for every site outside: `audit.parties.NAME.transfer_tool`"
        return missing(why, *facts.start)
    if all(party.transfer_tool == "adequacy" for party in abroad):
        return met("an adequacy decision is named for every transfer", *facts.start)
    need = [party for party in abroad if party.transfer_tool != "adequacy"]
    found = find_for(facts, "transfer-safeguards", need)
    if not found:
        return missing(
            "not stated: `audit.documents.transfer-safeguards`", *facts.start
        )
    return met("a tool is named for every transfer", *facts.start, *found)
