# SPDX-License-Identifier: Apache-2.0
"""Making the folder of a run, and opening that of an interrupted one."""

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lexfed.config import Config, load
from lexfed.config.text.wording import dotted, listed
from lexfed.errors import ConfigError, Problem, RunFolderError
from lexfed.run.audit_log.logbook import Logbook
from lexfed.run.audit_log.opening import check_statements, open_log
from lexfed.run.folder import EVENTS, LOG, OLD_COPY, RunFolder
from lexfed.run.intake.population import read_coins, write_coins
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.run.results.notes import notes_of
from lexfed.run.results.outlook import plan_with_outlook
from lexfed.run.results.run_result import RunResult, read_result
from lexfed.run.resumption import require_finished, require_whole

_MOST_KEYS = 5
"""Keys that are named where configurations differ."""


@dataclass(frozen=True)
class OpenRun:
    """A run that is open for writing: its folder and its audit log."""

    folder: RunFolder
    logbook: Logbook

    @property
    def path(self) -> Path:
        """The run folder."""
        return self.folder.path

    def close(self) -> None:
        """Close both; everything acknowledged is on disk."""
        self.logbook.close()
        self.folder.close()


def start(
    priced: PricedRun, path: Path, config_text: str, base: Path | None = None
) -> OpenRun:
    """Make the run folder of a priced programme.

    `path` is the folder, `config_text` the configuration as given. Paths in the
    configuration, of keys among others, are relative to `base`, by default the parent
    of the run folder.

    Guarantees:
        A start that fails leaves no folder behind that was not there before.

    Raises:
        ConfigError, Refused: if `[audit]` names a missing file, or the programme
            exceeds a budget; nothing is written then.
        RunFolderError: if there is a run already, or nothing can be written.
    """
    priced.ledger()
    base = path.parent if base is None else base
    check_statements(priced, base)
    _require_keys_apart(priced.config, path, base)
    is_new = not path.exists()
    folder = RunFolder.create(path)
    try:
        return OpenRun(folder, _begin(priced, folder, config_text, base))
    except BaseException as error:
        folder.close()
        # Nothing was released. What was interrupted can be begun again; what failed
        # would fail again, so nothing is left of it.
        if is_new and isinstance(error, Exception):
            shutil.rmtree(path, ignore_errors=True)
        raise


def resume(
    priced: PricedRun, path: Path, config_text: str, base: Path | None = None
) -> OpenRun:
    """Open the run folder of a priced programme that was interrupted; see `start`.

    Raises:
        RunFolderError: if there is no such run, or it belongs to another configuration.
        AuditError: if the folder is not as the run has left it, naming everything that
            is damaged; nothing is charged or written then.
    """
    priced.ledger()
    base = path.parent if base is None else base
    folder = RunFolder.open(path)
    try:
        if not folder.events.rows:  # interrupted before the first event
            return OpenRun(folder, _begin(priced, folder, config_text, base))
        _require_same(folder, priced.config)
        if folder.events.rows[0].get("programme") != priced.programme.digest:
            raise RunFolderError(
                f"`{path}` was started with other data or another version of lexfed",
                "restore the data files of the run, or start another run",
            )
        _require_same_place(folder, base)
        require_whole(priced, folder, base / priced.config.audit.keys)
        _require_coins(folder, priced)
        logbook = open_log(priced, path, base, begun=True)
        if logbook.log.origin != folder.events.rows[0].get("log"):
            logbook.close()
            raise RunFolderError(f"`{path / LOG}` is the log of another run", OLD_COPY)
        return OpenRun(folder, logbook)
    except BaseException:
        folder.close()
        raise


def finished_result(config: Config, path: Path) -> RunResult | None:
    """Return the result of a run that came to its end; None if it did not."""
    folder = RunFolder.open(path)
    try:
        if not folder.finished:
            return None
        _require_same(folder, config)
        require_finished(folder)
        return read_result(path)
    finally:
        folder.close()


def _require_same(folder: RunFolder, config: Config) -> None:
    """Refuse a configuration that is not the one the run began with.

    The programme alone would not do: it does not hold `run.test`, and seeded noise
    must never end up in a claim without its stamp.
    """
    first = folder.events.rows[0]
    if first.get("type") == "start" and first.get("config") == config.digest:
        return
    kept = folder.path / "config.toml"
    raise RunFolderError(
        f"`{folder.path}` was started with another configuration",
        f"{_differences(config, kept)}; continue it with that configuration (`{kept}`) "
        "and the same `--set`, `--name` and `--seed`, or start another run",
    )


def _differences(config: Config, kept: Path) -> str:
    """Return the keys in which a configuration differs from the one kept in a run."""
    with suppress(ConfigError):
        mine, its = (dict(_leaves(one.to_json())) for one in (config, load(kept)))
        keys = [key for key in {**mine, **its} if mine.get(key) != its.get(key)]
        if keys:
            more = ", ..." if len(keys) > _MOST_KEYS else ""
            return f"they differ in {listed(keys[:_MOST_KEYS])}{more}"
    return "compare the two"


def _leaves(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from _leaves(inner, (*above, key))
    else:
        yield dotted(above), value


def _require_keys_apart(config: Config, path: Path, base: Path) -> None:
    """Refuse a run folder with keys in it, wherever options or a number put it."""
    keys = (base / config.audit.keys).resolve()
    if keys.is_relative_to(path.resolve()):
        what = f"expected a folder outside the run folder `{path}`"
        hint = "run folders are handed to auditors; keep keys elsewhere"
        raise ConfigError([Problem("`audit.keys`", what, hint)])


def _require_same_place(folder: RunFolder, base: Path) -> None:
    """Refuse a journal that says it was started elsewhere: ledgers are found by it."""
    stated = folder.path / str(folder.events.rows[0].get("base"))
    if not stated.is_dir() or not stated.samefile(base):
        raise RunFolderError(
            f"`{folder.path}` was started in `{os.path.normpath(stated)}`",
            f"go on from there: its configuration does not belong into `{base}`",
        )


def _require_coins(folder: RunFolder, priced: PricedRun) -> None:
    coins = priced.population.coins
    if coins is not None and read_coins(folder.path, priced.config) != coins:
        raise RunFolderError(
            f"`{folder.path}` has other coins: people would change sites and sides",
            "load the data with `kept_coins` of the run that is continued",
        )


def _begin(
    priced: PricedRun, folder: RunFolder, config_text: str, base: Path
) -> Logbook:
    folder.write_bytes("config.toml", config_text.encode())
    folder.write_json("tags.json", priced.population.tagged.to_dict())
    folder.write_json("encoding.json", priced.population.encoding.to_dict())
    folder.write_json("plan.json", plan_with_outlook(priced))
    if priced.population.coins is not None:
        write_coins(folder.path, priced.population.coins, priced.config)
    logbook = open_log(priced, folder.path, base, begun=False)
    try:
        folder.events.append(
            {
                "type": "start",
                "config": priced.config.digest,
                "programme": priced.programme.digest,
                "log": logbook.log.origin,
                "base": os.path.relpath(base, folder.path),
                "keys": os.path.relpath(logbook.keys.folder, folder.path),
            }
        )
        for note in notes_of(priced):
            folder.events.append({"type": "note", "text": note})
    except BaseException:
        logbook.close()
        raise
    return logbook


def base_of(run: Path) -> Path:
    """Return the folder that paths in a run's configuration are relative to."""
    if not (run / EVENTS).is_file():
        raise RunFolderError(
            f"`{run}` is a copy: it does not say where the run was started",
            "give the folder in which the run was made",
        )
    folder = RunFolder.open(run)
    try:
        return Path(os.path.normpath(run / str(folder.events.rows[0]["base"])))
    except (IndexError, KeyError) as error:
        raise RunFolderError(f"`{run}` does not say where it was started") from error
    finally:
        folder.close()
