# SPDX-License-Identifier: Apache-2.0
"""From what a call was given to a configuration and its tables.

    lexfed.train("lexfed.toml")                          a configuration and its files
    lexfed.train(frame, "lexfed.toml")                   its table is in memory
    lexfed.train({"north": a, "south": b}, "lexfed.toml")   one frame for each site
    lexfed.train(frame, target=..., columns=..., tiers=..., epsilon=...)
    lexfed.train(frame, draft)                           what `init` returned

Where the table is in memory, the configuration of the run says so, whatever file it
named before: `source = "frame:patients.csv"`.
"""

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import tomlkit
from tomlkit.exceptions import TOMLKitError

from lexfed.config import Config, examine, from_mapping, load
from lexfed.config.examination import config_text
from lexfed.data.reading.memory_tables import MemoryTable
from lexfed.errors import ConfigError, Problem, system_reason
from lexfed.python.drafts import RunDraft
from lexfed.python.settings import Settings, configuration_tables, data_set_name
from lexfed.run.api import folder_of, priced_file
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.terms import FRAME

_CALL = "the call"
"""Stands for the file of a configuration in messages about keywords."""


@dataclass(frozen=True)
class RunRequest:
    """A configuration, its text, and the data frames that it names.

    `path` is its file; without one, where a file of the working folder would be.
    """

    config: Config
    text: str
    path: Path
    tables: tuple[MemoryTable, ...] = ()

    @classmethod
    def of_tables(
        cls,
        tables: Mapping[str, Any],
        name: str,
        path: Path,
        frames: tuple[MemoryTable, ...],
    ) -> "RunRequest":
        """Return the request of a configuration in memory, called `name` in messages.

        `ConfigError` has every problem of it.
        """
        plain = _plain(tables)
        return cls(from_mapping(plain, name), tomlkit.dumps(plain), path, frames)

    @property
    def folder(self) -> Path:
        """The run folder."""
        return folder_of(self.path, self.config)

    def priced(
        self, rounds: int | None = None, *, interrupted: Path | None = None
    ) -> PricedRun:
        """Read the data and price the run; nothing is spent."""
        return priced_file(
            self.path, self.config, rounds,
            interrupted=interrupted, tables=self.tables,
        )  # fmt: skip


TableGiven = Any
"""A data frame, or a mapping from sites to data frames."""


ConfigurationGiven = str | Path | RunDraft
"""The path of a configuration, or one that `init` has drafted."""


def requested(
    source: TableGiven, config: ConfigurationGiven | None, settings: Settings
) -> RunRequest:
    """Return the request of a call.

    Raises:
        ConfigError, DataError: with every problem of what was given.
    """
    if isinstance(source, str | Path | RunDraft):
        if config is not None or settings:
            what = "a configuration states everything itself"
            hint = "give a data frame instead of its path, or change the file"
            raise ConfigError([Problem("`source`", what, hint)])
        return _without_tables(source)
    if config is not None and settings:
        given = ", ".join(f"`{key}`" for key in settings)
        what = f"and {given} both state the run"
        raise ConfigError([Problem("`config`", what, "keep one of them")])
    if isinstance(config, RunDraft):
        return _with_tables(config.text, config.path, source)
    if config is not None:
        return _with_tables(_text_of(Path(config)), Path(config), source)
    by_site = isinstance(source, Mapping)
    names = (
        [f"{FRAME}{name}" for name in source] if by_site else [data_set_name(settings)]
    )
    tables = configuration_tables(settings, names, by_site)
    return RunRequest.of_tables(
        tables, _CALL, Path("lexfed.toml"), memory_tables(source, names)
    )


def memory_tables(source: TableGiven, names: Sequence[str]) -> tuple[MemoryTable, ...]:
    """Return the frames that were given under their names."""
    frames = list(source.values()) if isinstance(source, Mapping) else [source]
    return tuple(
        MemoryTable.of(frame, name) for frame, name in zip(frames, names, strict=True)
    )


def _without_tables(source: ConfigurationGiven) -> RunRequest:
    """Return the request of a configuration that names its files."""
    if not isinstance(source, RunDraft):
        path = Path(source)
        return RunRequest(load(path), config_text(path), path)
    if source.in_memory:
        what = "the draft was made from a data frame, which it does not hold"
        hint = "give the frame first: `lexfed.train(frame, draft)`"
        raise ConfigError([Problem("`source`", what, hint)])
    return RunRequest(source.config, source.text, source.path)


def _text_of(path: Path) -> str:
    try:
        return config_text(path)
    except (OSError, ValueError) as error:
        what = f"cannot be read: {system_reason(error)}"
        hint = "give the path of a configuration, or keywords instead"
        raise ConfigError([Problem(str(path), what, hint)]) from error


def _with_tables(text: str, path: Path, source: TableGiven) -> RunRequest:
    """Return the request of a configuration whose table is in memory."""
    document: Any = _document(text)
    data = document.get("data")
    if not isinstance(data, MutableMapping):
        examine(text, str(path)).require()  # says in full what is wrong, with lines
        what = "cannot put the name of the table into `[data]` as it is written here"
        raise ConfigError([Problem(str(path), what, "write `[data]` as a table")])
    names = _names(data, source)
    if isinstance(source, Mapping):
        data.pop("source", None)
        data["sites"] = {"files": names}
    else:
        data["source"] = names[0]
    changed = tomlkit.dumps(document)
    found = examine(changed, str(path)).require()
    return RunRequest(found, changed, path, memory_tables(source, names))


def _document(text: str) -> Mapping[str, Any]:
    try:
        return tomlkit.parse(text)
    except TOMLKitError:
        return {}


def _names(data: Any, source: TableGiven) -> list[str]:
    if isinstance(source, Mapping):
        return [f"{FRAME}{name}" for name in source]
    stated = str(data.get("source") or "table")
    known = stated.startswith(FRAME)
    return [stated if known else f"{FRAME}{PurePath(stated).name}"]


def _plain(value: Any) -> Any:
    """Return values as TOML has them: no tuples, nothing of NumPy."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value
