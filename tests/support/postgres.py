# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL server of its own, on a socket in a folder that it alone has."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PASSWORD = "correct-horse-battery"  # noqa: S105 (of a server that ends with the test)
MISSING = "PostgreSQL is not there: apt-get install postgresql"

_ACCESS = "local all owner trust\nlocal all reader scram-sha-256\n"


@dataclass(frozen=True)
class Server:
    """A server that runs: its programs and its folder, which has the socket."""

    programs: Path
    folder: Path

    def url(self, user: str = "reader", password: str = PASSWORD) -> str:
        """Return the URL of the database; the owner needs no password."""
        return f"postgresql://{user}:{password}@/postgres?host={self.folder}"

    def execute(self, statements: str) -> None:
        """Run statements as the owner."""
        command = [str(self.programs / "psql"), "-qX", "-v", "ON_ERROR_STOP=1"]
        address = ["-h", str(self.folder), "-U", "owner", "postgres"]
        subprocess.run(
            [*command, *address], input=statements.encode(), check=True,
            capture_output=True, timeout=60,
        )  # fmt: skip


def programs() -> Path | None:
    """Return the folder of the newest server's programs, if there is one."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if found:
        return found[-1].parent
    there = shutil.which("initdb")
    return Path(there).resolve().parent if there else None


@contextmanager
def running_server() -> Iterator[Server]:
    """Start a server, and stop it at the end; it refuses to run as root."""
    binaries = programs()
    if binaries is None:
        raise FileNotFoundError(MISSING)
    # The server's user must reach it, which a folder of tests may not allow.
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 (a fresh folder in it)
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir=place))
    user: int | None = None
    if os.getuid() == 0:
        names = {each.pw_name: each.pw_uid for each in pwd.getpwall()}
        user = names.get("postgres", names.get("nobody"))
        os.chown(folder, user or 0, -1)
    server, data = Server(binaries, folder), folder / "data"

    def program(name: str, *options: str) -> None:
        subprocess.run(
            [str(binaries / name), "-D", str(data), *options], check=True, user=user,
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=90,
        )  # fmt: skip

    try:
        program("initdb", "-U", "owner", "-A", "trust", "-E", "UTF8", "--no-sync",
                "--locale=C.UTF-8")  # fmt: skip
        (data / "pg_hba.conf").write_text(_ACCESS, encoding="utf-8")
        settings = (
            f"-k {folder} -c listen_addresses= -c fsync=off -c shared_buffers=8MB"
        )
        program("pg_ctl", "-w", "-o", settings, "start")
        try:
            server.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}';")
            yield server
        finally:
            program("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
