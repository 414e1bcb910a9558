# SPDX-License-Identifier: Apache-2.0
"""Making the kits of a deployment, once, before anything runs.

FLARE makes the certificates: a root for the project, and one certificate each for the
coordinator, every site and the administrator. When the kits are written, the key of the
root is gone: nobody can make a certificate for this deployment any more.

The TLS keys of all sites are made here, in one place. So the person who runs this could
keep copies, and speak as a site to the coordinator. That is why no guarantee to a site
rests on them: all parties sign, and sites mask, with keys that they make themselves
(`kit.enrolment`).
"""

import json
import os
import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from lexfed.errors import ConfigError, Problem, RunFolderError
from lexfed.federation.flare.hardening.tls13 import check_version, fingerprint
from lexfed.federation.flare.kit.folder import COORDINATOR, Kit, kit_text
from lexfed.federation.flare.kit.settings import (
    ADMIN,
    ORGANISATION,
    certificate_owners,
    kit_settings,
)
from lexfed.terms import SITE_NAME

LEAST_SITES = 2
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")


def provision(folder: Path, address: str, sites: Sequence[str]) -> dict[str, Kit]:
    """Make a folder with one kit for the coordinator and one for each site.

    The folder's name is the project's, and `address` is `HOST:PORT` of the coordinator
    as sites reach it.

    Guarantees:
        Folders have mode 0700 and files 0600, whatever the umask.
        The private key of the root is nowhere when this returns, and the private TLS
        key of a party is in its own kit only.
        On failure nothing is left; a folder that is there is not touched.
    """
    problems = list(_problems(folder.resolve().name, address, sites))
    if problems:
        raise ConfigError(problems)
    check_version()
    host, _, port = address.rpartition(":")
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError as error:
        raise RunFolderError(
            f"`{folder}` exists already",
            "kits are made once; remove it, or make a new project elsewhere",
        ) from error
    try:
        folder.chmod(0o700)
        with tempfile.TemporaryDirectory(dir=folder) as work:
            made = _certificates(Path(work), folder.resolve().name, host, sites)
            kits = [
                _write(folder, name, host, int(port), sites, made)
                for name in (COORDINATOR, *sites)
            ]
    except BaseException:
        shutil.rmtree(folder)
        raise
    return {kit.name: kit for kit in kits}


def _problems(project: str, address: str, sites: Sequence[str]) -> Iterable[Problem]:
    words = "use letters, digits and `_`, at most 32, beginning with a letter or digit"
    if not re.fullmatch(SITE_NAME, project):
        yield Problem(f"project {project!a}", "not a name", words)
    host, colon, port = address.rpartition(":")
    if not colon or not _HOST.fullmatch(host):
        what = f"not HOST:PORT, got: {address[:100]!a}"
        hint = "such as `fl.example.org:8002`, as sites reach the coordinator"
        yield Problem("--coordinator", what, hint)
    elif not port.isdecimal() or not 1 <= int(port) <= 65535:
        yield Problem("--coordinator", f"not a port, got: {port[:20]!a}")
    for name in sites:
        if not re.fullmatch(SITE_NAME, name):
            yield Problem(f"--site {name[:50]!a}", "not a name", words)
        elif name.lower() in (COORDINATOR, "admin", "server"):
            yield Problem(f"--site {name}", "this name has a meaning of its own")
    for name, count in Counter(map(str.lower, sites)).items():
        if count > 1:
            yield Problem(f"--site {name}", "the name is there twice")
    if len(sites) < LEAST_SITES:
        what = f"{len(sites)} given, at least {LEAST_SITES} needed"
        yield Problem("--site", what, "name every site: `--site north --site south`")


def _certificates(
    work: Path, project: str, host: str, sites: Sequence[str]
) -> dict[str, Path]:
    """Let FLARE make keys and certificates; return each party's folder of them."""
    from nvflare.lighter.constants import CtxKey
    from nvflare.lighter.entity import Project
    from nvflare.lighter.impl.cert import CertBuilder
    from nvflare.lighter.impl.workspace import WorkspaceBuilder
    from nvflare.lighter.provisioner import Provisioner

    plan = Project(name=project, description="", props={"api_version": 3})
    plan.set_server(COORDINATOR, ORGANISATION, {"default_host": host})
    for name in sites:
        plan.add_client(name, ORGANISATION, {})
    plan.add_admin(ADMIN, ORGANISATION, {"role": "project_admin"})
    builders = [WorkspaceBuilder(), CertBuilder()]
    done = Provisioner(str(work), builders).provision(plan, logger=_Silent())
    if done.get(CtxKey.BUILD_ERROR):
        raise RunFolderError("FLARE could not make the certificates")
    made = Path(done[CtxKey.CURRENT_PROD_DIR])
    return {n: made / n / "startup" for n in (COORDINATOR, ADMIN, *sites)}


class _Silent:
    """A sink for FLARE's messages; `lexfed` has its own."""

    def info(self, _message: str) -> None:
        pass

    debug = warning = error = info


def _write(
    folder: Path,
    name: str,
    host: str,
    port: int,
    sites: Sequence[str],
    made: dict[str, Path],
) -> Kit:
    pinned = made[COORDINATOR] / "server.crt"
    kit = Kit(
        folder.resolve() / name,
        folder.resolve().name,
        "coordinator" if name == COORDINATOR else "site",
        name,
        host,
        port,
        fingerprint(pinned),
        tuple(sorted(sites)),
    )
    files = {"kit.toml": kit_text(kit).encode()}
    files["coordinator.crt"] = pinned.read_bytes()
    for path, value in kit_settings(kit).items():
        files[path] = (json.dumps(value, indent=2) + "\n").encode()
    for path, owner in certificate_owners(kit).items():
        crt = Path(path)
        source = made[owner] / crt.name
        files[path] = source.read_bytes()
        files[str(crt.with_suffix(".key"))] = source.with_suffix(".key").read_bytes()
        root = crt.with_name("rootCA.pem")
        files[str(root)] = source.with_name("rootCA.pem").read_bytes()
    for path, content in files.items():
        _write_closed(kit.folder / path, content)
    empty = [kit.flare_folder / "transfer", kit.state]
    if kit.role == "coordinator":
        empty += [kit.admin_folder / "transfer", kit.runs]
    for each in empty:
        _make_closed(each)
    return kit


def _write_closed(path: Path, content: bytes) -> None:
    _make_closed(path.parent)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "wb") as file:
        os.fchmod(handle, 0o600)
        file.write(content)
        file.flush()
        os.fsync(handle)


def _make_closed(folder: Path) -> None:
    if not folder.is_dir():
        _make_closed(folder.parent)
        folder.mkdir(mode=0o700)
        folder.chmod(0o700)
