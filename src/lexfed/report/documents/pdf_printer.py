# SPDX-License-Identifier: Apache-2.0
"""The page on paper: printed by a Chromium that is already there.

No PDF library lays out HTML as browsers do, and a browser is nothing to install for
one file. Where there is none, the page itself prints well from any other browser.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from lexfed.errors import RunFolderError, system_reason

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
TIMEOUT_S = 120.0


def find_browser() -> str | None:
    """Return the path of a Chromium; None if there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def print_pdf(page: Path, out: Path, browser: str | None = None) -> None:
    """Print an HTML page to a PDF file, which is replaced if it is there.

    Raises:
        RunFolderError: if there is no browser, or it wrote nothing.
    """
    program = browser or find_browser()
    if program is None:
        raise RunFolderError(
            "no Chromium to print with",
            f"install `chromium`, or print `{page}` from any browser",
        )
    with tempfile.TemporaryDirectory(prefix="lexfed-pdf-") as folder:
        made = Path(folder) / "report.pdf"
        try:
            subprocess.run(  # noqa: S603 - a program found by name, our own arguments
                _command(program, page, made, folder),
                check=False,
                capture_output=True,
                timeout=TIMEOUT_S,
            )
            content = made.read_bytes()
        except subprocess.TimeoutExpired as error:
            raise _failed(program, page) from error
        except OSError as error:
            raise _failed(program, page) from error
    if not content.startswith(b"%PDF-"):
        raise _failed(program, page)
    try:
        out.write_bytes(content)
    except OSError as error:
        raise RunFolderError(f"cannot write `{out}`: {system_reason(error)}") from error


def _command(program: str, page: Path, made: Path, folder: str) -> list[str]:
    flags = [
        "--headless", "--disable-gpu", "--no-pdf-header-footer", "--no-first-run",
        "--disable-background-networking", "--disable-component-update",
        "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND",
        f"--user-data-dir={folder}/profile", f"--print-to-pdf={made}",
    ]  # fmt: skip
    if os.geteuid() == 0:
        # Chromium refuses to build its sandbox as root; the page is our own and runs
        # no program.
        flags.append("--no-sandbox")
    return [program, *flags, page.resolve().as_uri()]


def _failed(program: str, page: Path) -> RunFolderError:
    return RunFolderError(
        f"`{program}` printed nothing",
        f"print `{page}` from any browser",
    )
