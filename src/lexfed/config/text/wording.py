# SPDX-License-Identifier: Apache-2.0
"""Words for a wrong key: the expected value and the value found.

What a key expects is read off the model's JSON schema, so a message can never
disagree with the check that failed.
"""

import difflib
import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any

from lexfed.config.text.positions import KeyPath
from lexfed.data.reading.typed_cells.database_address import may_hold_password

SchemaNode = Mapping[str, Any]
"""A node of a JSON schema."""

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_NUMBER = re.compile(r"[+-]?\d[\d_]*(\.\d+)?([eE][+-]?\d+)?")
_LARGEST = 2**53
# What people call these things elsewhere.
_OTHER_WORDS = {
    **dict.fromkeys(("numeric", "float", "int", "integer", "real"), "number"),
    **dict.fromkeys(("bool", "boolean", "binary"), "flag"),
    **dict.fromkeys(("string", "str", "id", "key"), "text"),
    **dict.fromkeys(("row", "person", "patient", "example"), "record"),
    **dict.fromkeys(("site", "silo", "user"), "client"),
    **dict.fromkeys(("public", "free", "none"), "non_personal"),
    **dict.fromkeys(("sensitive", "art9", "phi"), "special"),
    **dict.fromkeys(("eps", "budget"), "epsilon"),
    **dict.fromkeys(("lr", "stepsize"), "learning_rate"),
    **dict.fromkeys(("label", "outcome", "y"), "target"),
    **dict.fromkeys(("file", "path", "dataset", "csv"), "source"),
    **dict.fromkeys(("epochs", "steps", "iterations"), "rounds"),
    **dict.fromkeys(("adjacency", "neighbors", "neighbor"), "neighbours"),
    **dict.fromkeys(("dpsgd", "flat", "gaussian"), "uniform"),
}
_TYPES = {
    "string": "text in quotes", "boolean": "`true` or `false`",
    "integer": "a whole number", "number": "a number", "object": "a table",
}  # fmt: skip


def dotted(path: KeyPath) -> str:
    """Write a path the way TOML does: `data.columns."blood type".values[0]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if _BARE_KEY.fullmatch(part) else quoted(part)
            text += f".{name}" if text else name
    return text


def quoted(text: str) -> str:
    """Write text as a TOML string."""
    # JSON and TOML escape alike, except that TOML does not take a bare DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def shown(value: object) -> str:
    """Write a value the way TOML does, short enough for a message."""
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, str):
        if may_hold_password(value):
            return "a URL"
        return f"`{quoted(value if len(value) <= 60 else value[:57] + '...')}`"
    if isinstance(value, int | float):
        # Python refuses to print integers of thousands of digits.
        huge = isinstance(value, int) and value.bit_length() > 1000
        return "a number of many digits" if huge else f"`{value}`"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, list | tuple):
        inner = ", ".join(shown(entry).strip("`") for entry in value[:5])
        return f"`[{inner}]`" if len(inner) <= 60 else f"an array of {len(value)}"
    return "a date or time"


def listed(names: Iterable[str]) -> str:
    """Write names as "`a`, `b`, `c`"."""
    return ", ".join(f"`{name}`" for name in names)


def closest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name most like the given one, if any is like it."""
    folded = {re.sub(r"[-_ .]", "", other.lower()): other for other in known}
    plain = re.sub(r"[-_ .]", "", name.lower())
    if _OTHER_WORDS.get(plain) in folded.values():
        return _OTHER_WORDS[plain]
    near = difflib.get_close_matches(plain, folded, n=1, cutoff=0.7)
    return folded[near[0]] if near else None


def closest_or(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return a hint with the closest known name, or the hint for when none is close."""
    near = closest(name, known)
    return otherwise if near is None else f"did you mean `{near}`?"


def did_you_mean(
    name: str, known: Iterable[str], otherwise: str, form: str = "{}"
) -> str:
    """Return a hint with the closest known name, or with all of them."""
    known = list(known)
    near = closest(name, known)
    if near is not None:
        return f"did you mean `{form.format(near)}`?"
    return f"{otherwise} {listed(map(form.format, known))}"


def schema_node(schema: SchemaNode, path: KeyPath) -> SchemaNode:
    """Return the schema's node for a path; an empty node if it knows none."""
    node = _resolved(schema, schema)
    for part in path:
        if isinstance(part, int):
            entries = node.get("prefixItems", [])
            inner = entries[part] if part < len(entries) else node.get("items", {})
        else:
            inner = node.get("properties", {}).get(part)
            if inner is None:
                inner = node.get("additionalProperties") or {}
        node = _resolved(schema, inner)
    return node


def _resolved(schema: SchemaNode, node: SchemaNode) -> SchemaNode:
    for option in node.get("anyOf", []):
        if option.get("type") != "null":
            return _resolved(schema, option)
    if "$ref" in node:
        return dict(schema["$defs"][node["$ref"].rpartition("/")[2]])
    return node


def expectation(schema: SchemaNode, node: SchemaNode, value: object) -> str:
    """Say what a key expects, as precisely as the value's mistake asks for."""
    if "pattern" in node:
        return str(node["description"])
    if "const" in node or "enum" in node:
        choices = [str(choice) for choice in node.get("enum", [node.get("const")])]
        return listed(choices) if len(choices) == 1 else f"one of {listed(choices)}"
    kind = node.get("type", "")
    if kind == "array":
        return _array(schema, node)
    if kind == "string" and isinstance(value, str):
        long = f"text of at most {node['maxLength']} characters"
        return long if value else "some text"
    if kind == "number" and isinstance(value, float) and not math.isfinite(value):
        return "a finite number" + _bounds(node, None)
    return _TYPES.get(kind, "another value") + _bounds(node, value)


def _array(schema: SchemaNode, node: SchemaNode) -> str:
    length = node.get("maxItems")
    entries = node.get("prefixItems") or [node.get("items", {})]
    entry = _resolved(schema, entries[0])
    if "enum" in entry:
        return f"an array of {listed(entry['enum'])}"
    what = {"number": "numbers", "object": "tables"}.get(
        entry.get("type", ""), "texts in quotes"
    )
    if length is not None:
        return f"an array of {length} {what}"
    return f"an array of {what}" + (", at least one" if "minItems" in node else "")


def _bounds(node: SchemaNode, value: object) -> str:
    parts = []
    if "exclusiveMinimum" in node:
        parts.append(f"above {node['exclusiveMinimum']:g}")
    if "minimum" in node:
        parts.append(f"of at least {node['minimum']:g}")
    upper = node.get("exclusiveMaximum")
    if upper == _LARGEST:
        # A bound of the file format, worth a word only to those who pass it.
        if isinstance(value, int | float) and value >= upper:
            parts.append("below 2^53")
    elif upper is not None:
        parts.append(f"below {upper:g}")
    if "maximum" in node:
        parts.append(f"at most {node['maximum']:g}")
    return f" {' and '.join(parts)}" if parts else ""


def _texts(value: object) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, str)]


def type_hint(node: SchemaNode, path: KeyPath, value: object) -> str:
    """Say what to type when the value is right but written wrongly."""
    if not path or isinstance(path[-1], int):
        return ""
    if any(may_hold_password(v) for v in _texts(value)):
        return ""
    kind, key = node.get("type"), dotted(path[-1:])
    if isinstance(value, str):
        if kind in ("number", "integer") and _NUMBER.fullmatch(value.strip()):
            return f"write it without quotes: `{key} = {value.strip()}`"
        if kind == "boolean" and value.lower() in ("true", "false", "yes", "no"):
            right = "true" if value.lower() in ("true", "yes") else "false"
            return f"write it without quotes: `{key} = {right}`"
        if kind == "array" and "prefixItems" not in node:
            return f"write it in brackets: `{key} = [{quoted(value)}]`"
    if kind == "boolean" and value in (0, 1):
        return f"write `{key} = {str(bool(value)).lower()}`"
    if kind == "string" and isinstance(value, tuple) and len(value) == 1:
        return f"write it without brackets: `{key} = {shown(value[0]).strip('`')}`"
    if kind == "string" and isinstance(value, int | float):
        return f'write it in quotes: `{key} = "{str(value).lower()}"`'
    if kind == "string" and isinstance(value, date) and type(value) is not datetime:
        return f'write it in quotes: `{key} = "{value}"`'
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return f"write it without a point: `{key} = {value:.0f}`"
    return ""
