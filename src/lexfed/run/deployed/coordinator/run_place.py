# SPDX-License-Identifier: Apache-2.0
"""The coordinator's files of a run, the run folder among them.

    KIT/runs/<run>/
      lexfed.toml       the configuration
      base              the folder that its paths are relative to
      profile           epsilon that a record pays for a profile; missing for training
      join.json         number of the run, and the signed statement of every site
      programme.json    the programme that all sites consented to
      outcome.json      how the last epoch ended, for the process that submitted its job
      run/              the run folder, as every run has one

They outlive the process of a job: the next one goes on from them.
"""

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import ValidationError

from lexfed.audit.entries.fields import ClosedModel, Digest, decimal
from lexfed.durable import write_atomically
from lexfed.errors import AuditError, LexfedError, RunFolderError
from lexfed.federation.flare.kit.folder import Kit
from lexfed.federation.programme.json_form import first_difference, from_bytes, to_bytes
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.run.deployed.terms.bundle import CONFIG, Bundle
from lexfed.run.folder import EVENTS
from lexfed.run.pricing.priced_run import PricedRun
from lexfed.signing.strict_text import decode_base64, encode_base64, parse_json

_JOIN = "join.json"
_PROGRAMME = "programme.json"
_BASE = "base"
_PROFILE = "profile"
_OUTCOME = "outcome.json"


class _JoinFile(ClosedModel):
    run: Digest
    terms: Digest
    statements: dict[str, str]


class _OutcomeFile(ClosedModel):
    job: str
    finished: bool
    message: str
    hint: str
    exit_code: int


def place_run(kit: Kit, config_path: Path, profile: float | None = None) -> str:
    """Put a configuration where `drive_epoch` finds it; return the name of its run.

    `profile` is the epsilon that a record pays for a profile; None for training. A run
    of that name with another configuration is a `RunFolderError`.
    """
    bundle = Bundle.read(config_path, profile=profile)
    name = bundle.name
    folder = kit.runs / name
    if (folder / CONFIG).exists():
        place = RunPlace(kit, name)
        if place.bundle().digest == bundle.digest:
            return name
        if place.begun:
            raise RunFolderError(
                f"`{folder}` is a run of another configuration",
                "choose another `run.name`",
            )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise RunFolderError(f"cannot write `{folder}`") from error
    base = config_path.parent.resolve()
    write_atomically(folder / _BASE, str(base).encode())
    if profile is None:
        (folder / _PROFILE).unlink(missing_ok=True)
    else:
        write_atomically(folder / _PROFILE, decimal(profile).encode())
    write_atomically(folder / CONFIG, bundle.text.encode())
    return name


class RunPlace:
    """The folder of a run in the coordinator's kit."""

    def __init__(self, kit: Kit, run: str) -> None:
        self.kit = kit
        self.folder = kit.runs / run
        self.out = self.folder / "run"

    @property
    def begun(self) -> bool:
        """True if there is a run folder to go on with."""
        return (self.out / EVENTS).is_file()

    @property
    def base(self) -> Path:
        """The folder that paths in the configuration are relative to."""
        try:
            return Path(read_plain(self.folder / _BASE, MOST_OF_A_DOCUMENT).decode())
        except FileNotFoundError:
            return self.folder

    def bundle(self) -> Bundle:
        """Return the configuration, the files it names, and the kind of the run."""
        return Bundle.read(self.folder / CONFIG, self.base, self._profile())

    def _profile(self) -> float | None:
        path = self.folder / _PROFILE
        try:
            return float(read_plain(path, MOST_OF_A_DOCUMENT))
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise RunFolderError(
                f"`{path}` is damaged", "restore it from a copy"
            ) from error

    def session(self, bundle: Bundle) -> "JoinRecord":
        """Return the join record of a run of this configuration, or begin one."""
        path = self.folder / _JOIN
        try:
            content = read_plain(path, MOST_OF_A_DOCUMENT)
        except FileNotFoundError:
            return self._new(bundle)
        try:
            parse_json(content)
            kept = _JoinFile.model_validate_json(content)
            statements = {
                name: decode_base64(text, "statement")
                for name, text in kept.statements.items()
            }
        except (AuditError, ValidationError) as error:
            raise RunFolderError(
                f"`{path}` is damaged", "restore it from a copy"
            ) from error
        if kept.terms == bundle.digest:
            return JoinRecord(path, kept.run, kept.terms, statements)
        if self.begun:
            raise RunFolderError(
                f"`{self.folder}` was begun with another configuration",
                "restore the configuration and its files, or choose another `run.name`",
            )
        return self._new(bundle)

    def _new(self, bundle: Bundle) -> "JoinRecord":
        path = self.folder / _JOIN
        session = JoinRecord(path, secrets.token_hex(32), bundle.digest)
        return session.with_statements({})

    def settled(self, priced: PricedRun) -> PricedRun:
        """Return the run with the programme that was offered first.

        Another machine may compute other last bits of a float; no more may differ.
        """
        path = self.folder / _PROGRAMME
        if not self.begun:
            write_atomically(path, to_bytes(priced.programme))
            return priced
        try:
            before = from_bytes(read_plain(path, MOST_OF_A_DOCUMENT))
        except (OSError, AuditError) as error:
            raise RunFolderError(f"`{path}` is damaged", "restore it") from error
        if first_difference(priced.programme, before):
            raise RunFolderError(
                f"`{self.folder}` was begun with another programme",
                "restore the version of lexfed that it was begun with",
            )
        return replace(priced, programme=before)


@dataclass(frozen=True)
class JoinRecord:
    """The number of a run, the digest of its terms, and the statements of its sites.

    The statements are signed; there are none until all have joined.
    """

    path: Path
    run: str
    terms: str
    statements: Mapping[str, bytes] = field(default_factory=dict)

    def with_statements(self, statements: Mapping[str, bytes]) -> "JoinRecord":
        """Return the record with the sites' statements; on return it is on disk."""
        kept = {
            "run": self.run,
            "terms": self.terms,
            "statements": {n: encode_base64(each) for n, each in statements.items()},
        }
        text = json.dumps(kept, indent=2, sort_keys=True) + "\n"
        write_atomically(self.path, text.encode())
        return replace(self, statements=dict(statements))


@dataclass(frozen=True)
class EpochOutcome:
    """The end of a FLARE job's epoch, and the error that keeps a run from going on."""

    job: str
    finished: bool
    error: LexfedError | None = None

    def write(self, folder: Path) -> None:
        """Write it beside the run; on return it is on disk."""
        error = self.error
        outcome = {
            "job": self.job,
            "finished": self.finished,
            "message": "" if error is None else error.message,
            "hint": "" if error is None else error.hint,
            "exit_code": 0 if error is None else error.exit_code,
        }
        text = json.dumps(outcome, indent=2) + "\n"
        write_atomically(folder / _OUTCOME, text.encode())

    @classmethod
    def read(cls, folder: Path, job: str) -> "EpochOutcome | None":
        """Return the outcome of a job's epoch; None if it has not ended."""
        try:
            outcome = _OutcomeFile.model_validate_json(
                read_plain(folder / _OUTCOME, MOST_OF_A_DOCUMENT)
            )
        except (OSError, ValidationError):
            return None
        if outcome.job != job:
            return None
        if not outcome.message:
            return cls(job, outcome.finished)
        error = LexfedError(outcome.message, outcome.hint)
        error.exit_code = outcome.exit_code
        return cls(job, outcome.finished, error)
