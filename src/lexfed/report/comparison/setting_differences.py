# SPDX-License-Identifier: Apache-2.0
"""The keys in which configurations differ, as they were given and logged."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lexfed.report.comparison.compared_runs import ComparedRun

_LONGEST = 100
_MISSING = object()


@dataclass(frozen=True)
class SettingDifference:
    """A key, and its value in every run: empty where it is not stated."""

    key: str
    values: tuple[str, ...]


def setting_differences(runs: Sequence[ComparedRun]) -> tuple[SettingDifference, ...]:
    """Return the keys that differ, with a value for each run in their order.

    A run without a configuration at hand counts as one that states nothing, but makes
    no difference by itself.
    """
    stated = [
        {} if run.dossier is None else dict(_flat(run.dossier.config)) for run in runs
    ]
    known = [each for each in stated if each]
    keys = dict.fromkeys(key for each in known for key in each)
    return tuple(
        SettingDifference(
            key, tuple(_shown(each.get(key, _MISSING)) for each in stated)
        )
        for key in keys
        if any(each.get(key, _MISSING) != known[0].get(key, _MISSING) for each in known)
    )


def _flat(table: Mapping[str, object], above: str = "") -> Iterator[tuple[str, object]]:
    for name, value in table.items():
        key = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{key}.")
        else:
            yield key, value


def _shown(value: object) -> str:
    if value is _MISSING:
        return ""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
