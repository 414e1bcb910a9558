# SPDX-License-Identifier: Apache-2.0
"""Making the folder of a run, and opening that of an interrupted one."""

import json
from pathlib import Path
from typing import Any

from lexfed.config import Config
from lexfed.errors import RunFolderError
from lexfed.run.folder import RunFolder
from lexfed.run.planning import Priced, plan_json
from lexfed.run.result import RunResult, notes_of, read_result


def start(priced: Priced, path: Path, config_text: str) -> RunFolder:
    """Make the run folder of a priced programme.

    Raises:
        RunFolderError: if there is a run already, or nothing can be written.
        Refused: if the programme exceeds a budget; nothing is written then.
    """
    priced.ledger()
    folder = RunFolder.create(path)
    try:
        _begin(priced, folder, config_text)
    except BaseException:
        folder.close()
        raise
    return folder


def resume(priced: Priced, path: Path, config_text: str) -> RunFolder:
    """Open the run folder of a priced programme that was interrupted.

    Raises:
        RunFolderError: if there is no such run, or it belongs to another
            configuration.
    """
    priced.ledger()
    folder = RunFolder.open(path)
    try:
        if not folder.events.rows:  # interrupted before the first event
            _begin(priced, folder, config_text)
        require_same(folder, priced.config)
        if folder.events.rows[0].get("programme") != priced.programme.digest:
            raise RunFolderError(
                f"`{path}` was started with other data or another version of lexfed",
                "restore the data files of the run, or choose another `run.out`",
            )
    except BaseException:
        folder.close()
        raise
    return folder


def finished(config: Config, path: Path) -> RunResult | None:
    """Return the result of a run that came to its end; None if it did not.

    Raises:
        RunFolderError: if there is no run, or it belongs to another configuration.
    """
    folder = RunFolder.open(path)
    try:
        if not folder.finished:
            return None
        require_same(folder, config)
        return read_result(path)
    finally:
        folder.close()


def require_same(folder: RunFolder, config: Config) -> None:
    """Refuse a configuration that is not the one the run began with.

    The programme alone would not do: it does not hold `run.test`, and seeded noise
    must never end up in a claim without its stamp.
    """
    first = folder.events.rows[0]
    if first.get("type") != "start" or first.get("config") != config.digest:
        raise RunFolderError(
            f"`{folder.path}` was started with another configuration",
            f"compare yours with `{folder.path / 'config.toml'}`, or choose another "
            "`run.out`",
        )


def _begin(priced: Priced, folder: RunFolder, config_text: str) -> None:
    folder.write_bytes("config.toml", config_text.encode())
    folder.write_bytes("tags.json", _pretty(priced.population.tagged.to_dict()))
    folder.write_bytes("encoding.json", _pretty(priced.population.encoding.to_dict()))
    folder.write_bytes("plan.json", _pretty(plan_json(priced)))
    folder.events.append(
        {
            "type": "start",
            "config": priced.config.digest,
            "programme": priced.programme.digest,
        }
    )
    for note in notes_of(priced):
        folder.events.append({"type": "note", "text": note})


def _pretty(value: Any) -> bytes:
    return (json.dumps(value, indent=2, allow_nan=False) + "\n").encode()
