# SPDX-License-Identifier: Apache-2.0
"""Values made from the schemas of entries themselves: any that fit, and none that do.

`instances` gives anything that a schema accepts, `example` one value with something in
every field, and `every_spoilt` every place in that example together with every kind of
value that does not belong there. A field added to an entry is tested from then on.
"""

from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import BaseModel, StringConstraints

from lexfed.audit.entries import KINDS
from lexfed.audit.entries.fields import (
    Base64Text,
    CodeWord,
    DateText,
    DecimalText,
    Digest,
    LogOrigin,
    TimeText,
)

_MAPPING = get_origin(Mapping[str, str])


def fitting(annotation: Any, metadata: list[Any]) -> st.SearchStrategy[Any]:
    """Return values of a field."""
    arguments = get_args(annotation)
    if get_origin(annotation) is Literal:
        return st.sampled_from(arguments)
    if hasattr(annotation, "__metadata__"):
        return fitting(arguments[0], list(annotation.__metadata__))
    if get_origin(annotation) in (Union, UnionType):
        return st.one_of([fitting(each, []) for each in arguments])
    if get_origin(annotation) is tuple:
        fewest = max([getattr(each, "min_length", 0) or 0 for each in metadata] + [0])
        return st.lists(fitting(arguments[0], []), min_size=fewest, max_size=3).map(
            tuple
        )
    if get_origin(annotation) is _MAPPING:
        return st.dictionaries(
            fitting(arguments[0], []), fitting(arguments[1], []), max_size=3
        )
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return instances(annotation)
    for constraint in metadata:
        if isinstance(constraint, StringConstraints):
            pattern = str(constraint.pattern).removeprefix("^").removesuffix("$")
            return st.from_regex(pattern, fullmatch=True)
    simple: dict[Any, st.SearchStrategy[Any]] = {
        bool: st.booleans(),
        int: st.integers(0, 2**53 - 1),
        str: st.text(
            st.characters(codec="utf-8", exclude_characters="\0"), max_size=100
        ),
        NoneType: st.none(),
    }
    return simple[annotation]


def instances(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Return instances of a schema."""
    fields = {
        name: fitting(field.annotation, field.metadata)
        for name, field in model.model_fields.items()
    }
    return st.builds(model, **fields)


def full(annotation: Any, metadata: list[Any]) -> Any:
    """Return one value of a field, the largest that is easy to make."""
    arguments = get_args(annotation)
    if get_origin(annotation) is Literal:
        return arguments[-1]
    if hasattr(annotation, "__metadata__"):
        return full(arguments[0], list(annotation.__metadata__))
    if get_origin(annotation) in (Union, UnionType):
        return full(next(each for each in arguments if each is not NoneType), [])
    if get_origin(annotation) is tuple:
        return (full(arguments[0], []),)
    if get_origin(annotation) is _MAPPING:
        return {full(arguments[0], []): full(arguments[1], [])}
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return example(annotation)
    for constraint in metadata:
        if isinstance(constraint, StringConstraints):
            return EXAMPLES[str(constraint.pattern)]
    return {bool: True, int: 1, str: "text"}[annotation]


def example(model: type[BaseModel]) -> Any:
    fields = model.model_fields
    return model(
        **{
            name: full(fields[name].annotation, fields[name].metadata)
            for name in fields
        }
    )


def pattern_of(annotated: Any) -> str:
    """Return the pattern of a kind of text."""
    return str(get_args(annotated)[1].pattern)


EXAMPLES = {
    pattern_of(Base64Text): "AQ==",
    pattern_of(CodeWord): "gdpr:9(1)",
    pattern_of(DateText): "2026-11-15",
    pattern_of(DecimalText): "1e-06",
    pattern_of(Digest): "0123456789abcdef" * 4,
    pattern_of(LogOrigin): "audit.example/x",
    pattern_of(TimeText): "2026-11-15T12:00:00Z",
}

NO_TEXT: list[Any] = [None, 1, 1.5, True, [], {}, ["x"]]
WRONG_TEXT: dict[str, list[Any]] = {
    pattern_of(Base64Text): ["", "A===", "A B", "AQ==\n", "A" * 4097, "_-"],
    pattern_of(CodeWord): [
        "", "two words", "-x", "ä", "x" * 97, "a\nb", "a\n", "a\tb", "a/b", "<b>",
    ],
    pattern_of(DateText): [
        "", "2026-11", "15.11.2026", "2026-11-15T12:00:00Z", "2026-11-15\n", "20261115",
    ],
    pattern_of(DecimalText): [
        "", "-1", "-0.0", "+1", "NaN", "nan", "inf", "Infinity", "01", "1.", ".5",
        "1e5", "1E+5", "0x10", " 1", "1 ", "1\n", "1_000", "1,5", "\u0661", "1" * 22,
        "1e+1000",
    ],
    pattern_of(Digest): [
        "", "0" * 63, "0" * 65, "A" * 64, "g" * 64, "0" * 64 + "\n", " " + "0" * 63,
    ],
    pattern_of(LogOrigin): ["", "https://a", "a b", "a+b", "a" * 201, "a\n"],
    pattern_of(TimeText): [
        "", "2026-11-15", "2026-11-15 12:00:00Z", "2026-11-15T12:00:00",
        "2026-11-15T12:00:00+00:00", "2026-11-15t12:00:00z", "2026-11-15T12:00:00.5Z",
        "12026-11-15T12:00:00Z", "2026-11-15T12:00:00Z\n",
    ],
}  # fmt: skip
WRONG_COUNT = [-1, 2**53, 1.5, "1", "one", True, None, [], {}, 10**30]
WRONG_FLAG = [0, 1, "true", "false", None, [], {}]
WRONG_LIST = [None, "x", 1, {}, {"0": "x"}]
WRONG_MAP: list[Any] = [None, "x", 1, [], {"": "x"}, {"no such key here": "0.5"}]

Where = tuple[str | int, ...]


def spoilt(
    annotation: Any, metadata: list[Any], path: Where
) -> Iterator[tuple[Where, Any]]:
    """Yield every place below a field, and a value that does not belong there."""
    arguments = get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        yield from spoilt(arguments[0], list(annotation.__metadata__), path)
    elif get_origin(annotation) is Literal:
        word = str(arguments[0])
        near = ["", "another", word * 2, word.swapcase(), f"{word}\n", f" {word}"]
        yield from ((path, value) for value in [*near, *NO_TEXT])
    elif get_origin(annotation) in (Union, UnionType):
        inner = next(each for each in arguments if each is not NoneType)
        found = spoilt(inner, [], path)
        optional = NoneType in arguments
        yield from (each for each in found if not (optional and each == (path, None)))
    elif get_origin(annotation) is tuple:
        yield from ((path, value) for value in WRONG_LIST)
        yield from spoilt(arguments[0], [], (*path, 0))
    elif get_origin(annotation) is _MAPPING:
        yield from ((path, value) for value in WRONG_MAP)
        yield from spoilt(arguments[1], [], (*path, str(full(arguments[0], []))))
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        needed = any(f.is_required() for f in annotation.model_fields.values())
        wrong: list[Any] = [None, "x", 1, [], *[{}] * needed]
        yield from ((path, value) for value in wrong)
        for name, field in annotation.model_fields.items():
            yield from spoilt(field.annotation, field.metadata, (*path, name))
    elif annotation is bool:
        yield from ((path, value) for value in WRONG_FLAG)
    elif annotation is int:
        yield from ((path, value) for value in WRONG_COUNT)
    else:
        patterns = [
            str(c.pattern) for c in metadata if isinstance(c, StringConstraints)
        ]
        wrong = WRONG_TEXT[patterns[0]] if patterns else []
        yield from ((path, value) for value in [*wrong, *NO_TEXT])


def every_spoilt(kind: str) -> list[tuple[Where, Any]]:
    """Return every place in an entry of a kind with every value it must not have."""
    return [
        each
        for name, field in KINDS[kind].model_fields.items()
        for each in spoilt(field.annotation, field.metadata, (name,))
    ]
