# SPDX-License-Identifier: Apache-2.0
"""The folder with which one organisation takes part in a deployment.

    KIT/                 mode 0700; a reader could take part in its name
      kit.toml           name of the organisation, address and pin of the coordinator
      coordinator.crt    the one certificate that this kit believes the coordinator
      identity.pem       Ed25519 key, made here by `lexfed site enrol`, mode 0600
      enrolment.json     its public half with a proof, for the others
      roster.json        public keys of everybody, the same bytes at all
      flare/             workspace of FLARE: TLS keys, settings, logs, jobs
      state/             ledgers and answered rounds; survives every restart
      admin/, runs/      at the coordinator: the submitter of jobs, and the runs

Nothing in it is read from the network or from a job.
"""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, StringConstraints, ValidationError

from lexfed.audit.entries.fields import ClosedModel
from lexfed.errors import RunFolderError
from lexfed.plain_files import MOST_OF_A_DOCUMENT, read_plain
from lexfed.terms import DIGEST, SITE_NAME
from lexfed.toml_text import parse_toml

COORDINATOR = "coordinator"
"""The name of the coordinator; no site may have it."""
KIT_VARIABLE = "LEXFED_KIT"
DATA_VARIABLE = "LEXFED_DATA"
"""Variables by which a process of FLARE finds its kit and the site's data."""

KitRole = Literal["coordinator", "site"]
SiteName = Annotated[str, StringConstraints(pattern=f"^{SITE_NAME}$")]


class _File(ClosedModel):
    """The content of `kit.toml`."""

    version: Literal[1]
    project: Annotated[str, StringConstraints(pattern=f"^{SITE_NAME}$")]
    role: KitRole
    name: SiteName
    host: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.-]{1,253}$")]
    port: Annotated[int, Field(ge=1, le=65535)]
    pin: Annotated[str, StringConstraints(pattern=f"^{DIGEST}$")]
    sites: list[SiteName]


@dataclass(frozen=True)
class Kit:
    """A kit as its `kit.toml` describes it, in `folder` (an absolute path).

    `project` is shared by the kits of one deployment, `name` is `coordinator` at the
    coordinator, which has `host` and `port`, and `pin` is the SHA-256 of its
    certificate (DER), in hexadecimal. A process may have been started with the site's
    table, `data`.
    """

    folder: Path
    project: str
    role: KitRole
    name: str
    host: str
    port: int
    pin: str
    sites: tuple[str, ...]
    data: Path | None = None

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read `kit.toml`; `startup_check.check_kit` checks the rest."""
        path = folder / "kit.toml"
        try:
            text = read_plain(path, MOST_OF_A_DOCUMENT, links=True).decode()
            file = _File.model_validate(parse_toml(text))
        except (OSError, UnicodeDecodeError) as error:
            raise RunFolderError(
                f"`{folder}` is not a kit: it has no `kit.toml` that can be read",
                "`lexfed deploy init` makes kits; name the folder you were given",
            ) from error
        except ValidationError as error:
            first = error.errors()[0]
            key = ".".join(map(str, first["loc"]))
            raise _damaged(path, f"`{key}`: {first['msg'].lower()}") from error
        except (ValueError, RecursionError) as error:
            raise _damaged(path, str(error).lower()) from error
        if (file.role == COORDINATOR) != (file.name == COORDINATOR):
            raise _damaged(path, "`name` and `role` are of different parties")
        if file.name not in (COORDINATOR, *file.sites):
            raise _damaged(path, "`name` is not among `sites`")
        values = {**file.model_dump(exclude={"version"}), "sites": tuple(file.sites)}
        return cls(Path(os.path.abspath(folder)), **values)

    @classmethod
    def of_process(cls) -> Self:
        """Return the kit that this process was started for by a command of `lexfed`."""
        folder, data = os.environ.get(KIT_VARIABLE), os.environ.get(DATA_VARIABLE)
        if folder is None:
            raise RunFolderError(
                "this process was not started for a kit",
                "start with `lexfed coordinator start` or `lexfed site start`",
            )
        kit = cls.read(Path(folder))
        return kit if data is None else replace(kit, data=Path(data))

    def environment(self) -> dict[str, str]:
        """Return the variables that tell processes of this kit its folder."""
        variables = {KIT_VARIABLE: str(self.folder)}
        if self.data is not None:
            variables[DATA_VARIABLE] = str(self.data)
        return variables

    @property
    def address(self) -> str:
        """The coordinator's address, as `host:port`."""
        return f"{self.host}:{self.port}"

    @property
    def certificate(self) -> Path:
        """The coordinator's certificate, which the pin is the hash of."""
        return self.folder / "coordinator.crt"

    @property
    def identity_key(self) -> Path:
        """The private key of this organisation, made here."""
        return self.folder / "identity.pem"

    @property
    def enrolment(self) -> Path:
        """The file that this organisation hands to the collector of the roster."""
        return self.folder / "enrolment.json"

    @property
    def roster(self) -> Path:
        """The public keys of everybody."""
        return self.folder / "roster.json"

    @property
    def flare_folder(self) -> Path:
        """The workspace of FLARE's server or client."""
        return self.folder / "flare"

    @property
    def admin_folder(self) -> Path:
        """The workspace of the submitter of jobs; at the coordinator only."""
        return self.folder / "admin"

    @property
    def state(self) -> Path:
        """Ledgers and answered rounds."""
        return self.folder / "state"

    @property
    def runs(self) -> Path:
        """Run folders; at the coordinator only."""
        return self.folder / "runs"


def kit_text(kit: Kit) -> str:
    """Return the text of `kit.toml`."""
    return (
        "# Made by `lexfed deploy init`. Compare the pin with the coordinator by\n"
        "# telephone: it is all that tells this kit who the coordinator is.\n"
        "version = 1\n"
        f'project = "{kit.project}"\n'
        f'role = "{kit.role}"\n'
        f'name = "{kit.name}"\n'
        f'host = "{kit.host}"\n'
        f"port = {kit.port}\n"
        f'pin = "{kit.pin}"\n'
        f"sites = {json.dumps(kit.sites)}\n"
    )


def _damaged(path: Path, what: str) -> RunFolderError:
    return RunFolderError(
        f"`{path}`: {what}", "restore it from the kit that you were given"
    )
