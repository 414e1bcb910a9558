# SPDX-License-Identifier: Apache-2.0
"""Printing needs a browser that is there; whatever it does, the error is ours."""

from pathlib import Path

import pytest

from lexfed.errors import RunFolderError
from lexfed.report.documents import run_documents
from lexfed.report.documents.run_documents import find_browser, print_pdf


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "a page.html"
    path.write_text("<!DOCTYPE html><p>page")
    return path


def _browser(folder: Path, script: str) -> str:
    path = folder / "browser"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


WRITES = """
for each; do case $each in --print-to-pdf=*) out=${each#--print-to-pdf=};; esac; done
for each; do last=$each; done
case $last in file://*a%20page.html) printf '%%PDF-1.4 fake' > "$out";; esac
"""


def test_what_the_browser_prints_is_kept(page: Path, tmp_path: Path) -> None:
    out = tmp_path / "report.pdf"
    print_pdf(page, out, _browser(tmp_path, WRITES))
    assert out.read_bytes() == b"%PDF-1.4 fake"


@pytest.mark.parametrize(
    "script",
    ["exit 1", WRITES.replace("%%PDF", "oops"), "sleep 5"],
    ids=["fails", "no pdf", "hangs"],
)
def test_a_browser_that_prints_nothing_is_named(
    script: str, page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_documents, "TIMEOUT_S", 1.0)
    with pytest.raises(RunFolderError, match="printed nothing") as caught:
        print_pdf(page, tmp_path / "report.pdf", _browser(tmp_path, script))
    assert "from any browser" in caught.value.hint
    assert not (tmp_path / "report.pdf").exists()


def test_without_a_browser_the_page_can_still_be_printed(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_browser() is None
    with pytest.raises(RunFolderError, match="no Chromium") as caught:
        print_pdf(page, tmp_path / "report.pdf")
    assert "install `chromium`" in caught.value.hint


def test_a_browser_that_is_not_a_program_is_named(page: Path, tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match="printed nothing"):
        print_pdf(page, tmp_path / "report.pdf", str(tmp_path / "missing"))


def test_a_place_that_cannot_be_written_is_named(page: Path, tmp_path: Path) -> None:
    out = tmp_path / "folder"
    out.mkdir()
    with pytest.raises(RunFolderError, match="cannot write"):
        print_pdf(page, out, _browser(tmp_path, WRITES))


@pytest.mark.parametrize("user", [0, 1000])
def test_the_sandbox_is_given_up_only_as_root(
    user: int, page: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: user)
    command = run_documents._command("chromium", page, Path("x.pdf"), "folder")
    assert ("--no-sandbox" in command) == (user == 0)
