# SPDX-License-Identifier: Apache-2.0
"""The page on configuration lists exactly the keys there are, with what they expect."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lexfed.audit.vocabulary import DOCUMENTS
from lexfed.config import examine
from lexfed.config.tables.root import Config
from lexfed.config.text.positions import KeyPath
from lexfed.config.text.wording import expectation, schema_node, shown

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "configuration.md"
SCHEMA = Config.model_json_schema()


def keys(above: KeyPath = ()) -> Iterator[KeyPath]:
    node = schema_node(SCHEMA, above)
    inner = [*node.get("properties", {})]
    if isinstance(node.get("additionalProperties"), dict):
        inner.append("NAME")
    if not inner:
        yield above
    for name in inner:
        yield from keys((*above, name))


def default(path: KeyPath) -> str:
    if path[-1] == "NAME":
        return ""
    table = schema_node(SCHEMA, path[:-1])
    if path[-1] in table.get("required", []):
        return "required"
    value = table["properties"][path[-1]].get("default")
    return "" if value is None else shown(value)


def rows() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in DOCUMENT.read_text().splitlines():
        if line.startswith("| `"):
            key, *cells = (cell.strip() for cell in line.strip("|").split("|"))
            assert key.strip("`") not in found
            found[key.strip("`")] = cells
    return found


def test_document_lists_exactly_the_keys() -> None:
    assert list(rows()) == [".".join(map(str, path)) for path in keys()]


def test_document_says_what_keys_expect() -> None:
    for path in keys():
        expects, stated, meaning = rows()[".".join(map(str, path))]
        assert expects == expectation(SCHEMA, schema_node(SCHEMA, path), None)
        assert stated == default(path)
        assert meaning.endswith(".")


def test_document_lists_exactly_the_documents() -> None:
    _, _, text = DOCUMENT.read_text().partition("## `[audit.documents]`")
    section, _, _ = text.partition("| key |")
    found = re.findall(r"^- `([a-z-]+)`: (.*)[;.]$", section, re.MULTILINE)
    assert found == list(DOCUMENTS.items())


def test_example_of_the_document_is_valid() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    examination: Any = examine(example)
    assert examination.problems == ()
