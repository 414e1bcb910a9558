# SPDX-License-Identifier: Apache-2.0
"""Standards are recognised by their rare names, and are a body of precedent."""

import pytest

from lexfed.errors import ConfigError
from lexfed.law.tagger.metadata.packs import (
    Pack,
    PackIndex,
    evidence_of_packs,
    index_packs,
    load_packs,
    matching_packs,
    parse_pack,
)
from lexfed.law.tagger.suggestions import DescribedColumn


def pack(name: str, *lines: str, title: str = "a standard") -> Pack:
    head = f"# title: {title}\n# source: a book\n# lang: de\n# domain: health\n"
    return parse_pack(name, (head + "\n".join(lines)).encode())


REGISTER = pack(
    "register",
    "fall\tXQDIAG\tspecial\thealth\tstring\tdiagnosis",
    "fall\tXQPATNR\tidentifier\tperson_key\tstring\tpatient",
    "fall\tXQDATUM\tspecial\thealth\tdate",
    "fall\tid\tnon_personal\ttechnical",
    "haus\tid\tnon_personal\tbusiness",
    title="the register of cases",
)
SHOP = pack(
    "shop",
    "orders\tid\tnon_personal\ttechnical",
    "orders\tsku\tnon_personal\tbusiness",
    "orders\txq_note\tpersonal\tother_personal",
)
PACKS = index_packs([REGISTER, SHOP])


def said(
    name: str, table: str = "t", *others: str, packs: PackIndex = PACKS
) -> set[str]:
    columns = [DescribedColumn(table, one) for one in (name, *others)]
    matches = matching_packs(columns, packs)
    found = evidence_of_packs(columns[0], matches, packs)
    return {item.category or "" for item in found}


def test_a_pack_is_read_with_its_head() -> None:
    assert (REGISTER.title, REGISTER.source) == ("the register of cases", "a book")
    assert (REGISTER.language, REGISTER.domain) == ("de", "health")
    assert REGISTER.rows[0].description == "diagnosis"
    assert REGISTER.rows[2].description == ""
    assert [row.table for row in PACKS.by_column["id"]] == ["fall", "haus", "orders"]


@pytest.mark.parametrize(
    "line", ["fall\tX", "fall\tX\tspecial\tbusiness", "fall\tX\tspezial\thealth"]
)
def test_a_wrong_line_is_named(line: str) -> None:
    with pytest.raises(ConfigError, match=r"mine\.tsv:5"):
        pack("mine", line)


def test_a_table_is_recognised_by_its_rare_names() -> None:
    columns = [
        DescribedColumn("t", name) for name in ("xqdiag", "XqPatnr", "XQDATUM", "id")
    ]
    matches = matching_packs(columns, PACKS)
    assert [match.pack for match in matches] == ["register"]
    found = list(evidence_of_packs(columns[0], matches, PACKS))
    assert [item.category for item in found] == ["health"]
    assert "the register of cases" in found[0].text
    assert found[0].weight > 2.0


def test_names_that_everybody_uses_recognise_nothing() -> None:
    columns = [DescribedColumn("t", name) for name in ("id", "sku", "name", "date")]
    assert matching_packs(columns, PACKS) == []


def test_numbers_of_a_codebook_alone_recognise_nothing() -> None:
    numbers = [f"t\tV{n}\tspecial\tpolitical\tinteger" for n in range(1, 100)]
    many = index_packs([pack("survey", *numbers), SHOP])
    columns = [DescribedColumn("pca", f"V{n}") for n in range(1, 29)]
    assert matching_packs(columns, many) == []
    assert said("V1", packs=many) == set()


def test_the_same_table_decides_between_two_meanings_of_a_name() -> None:
    names = ("id", "XQDIAG", "XQPATNR", "XQDATUM")
    assert said(names[0], "fall", *names[1:]) == {"technical"}


def test_what_a_name_stands_for_elsewhere_is_weak_evidence() -> None:
    column = DescribedColumn("t", "XQDIAG")
    (found,) = evidence_of_packs(column, [], PACKS)
    assert found.category == "health"
    assert "1 of 1 known standards" in found.text
    assert found.weight < 2.0


def test_words_of_names_are_precedents_too() -> None:
    packs = index_packs(
        [pack(f"p{n}", f"t\tQQW_{n}\tspecial\thealth") for n in range(4)]
    )
    (found,) = evidence_of_packs(DescribedColumn("t", "other_qqw"), [], packs)
    assert (found.kind, found.category) == ("pack", "health")
    assert "`qqw`" in found.text


def test_packs_can_be_left_out() -> None:
    names = set(load_packs().packs)
    assert names
    one = min(names)
    assert set(load_packs(frozenset({one})).packs) == names - {one}


def test_no_packs_know_nothing() -> None:
    assert said("id", packs=index_packs([])) == set()
