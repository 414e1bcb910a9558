# SPDX-License-Identifier: Apache-2.0
"""`lexfed verify`: one line per claim, and an exit code that scripts can trust."""

import json
from pathlib import Path

import typer

from lexfed.audit.verify import RunVerdict, Status, verify_run
from lexfed.cli import talk
from lexfed.errors import RunFolderError, system_reason

_MOST = 1 << 20
"""Bytes of a trust file or checkpoint; real ones have a few hundred."""


def verify(
    folder: Path,
    policy: Path | None,
    pin: Path | None,
    authorities: Path | None,
    as_json: bool,
) -> None:
    """Print what holds and what does not; end with exit code 1 if anything fails."""
    verdict = verify_run(
        folder, read_small(policy), read_small(pin), authorities=authorities
    )
    if as_json:
        print(json.dumps(verdict.to_json(), indent=2, allow_nan=False))
    else:
        for check in verdict.checks:
            print(check)
    talk.say(_sentence(folder, verdict))
    if not verdict.ok:
        raise typer.Exit(1)


def _sentence(folder: Path, verdict: RunVerdict) -> str:
    failed = sum(check.status is Status.FAIL for check in verdict.checks)
    held = sum(check.status is Status.OK for check in verdict.checks)
    if failed:
        return f"{folder}: NOT VERIFIED, {failed} of {failed + held} claims fail"
    return f"{folder}: verified, {held} claims hold; the notes say what is left open"


def read_small(path: Path | None) -> bytes | None:
    """Return a trust file or checkpoint; None if no path is given.

    Raises:
        RunFolderError: if it cannot be read, or is too large to be one.
    """
    if path is None:
        return None
    try:
        with path.open("rb") as file:
            content = file.read(_MOST + 1)
    except OSError as error:
        raise RunFolderError(
            f"cannot read `{path}`: {system_reason(error)}",
            "give the path of a file",
        ) from error
    if len(content) > _MOST:
        raise RunFolderError(
            f"`{path}` has more than {_MOST} bytes", "it is not a trust file or pin"
        )
    return content
