# SPDX-License-Identifier: Apache-2.0
"""The bundle verifies wherever it is unpacked, and holds nothing that must stay."""

import io
import os
import re
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path, PurePosixPath

import pytest

from lexfed.audit.entries import Deletion, FeatureTags
from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.verify import verify_run
from lexfed.report.documents.evidence_bundle import evidence_bundle, pack
from lexfed.report.dossier import Dossier, build_dossier
from report.conftest import MakeDossier, broken_run, certified, measured, told_run
from support.audit.masked_runs import masked_run
from support.audit.worlds import FakeRun, fake_run, place

COMMAND = re.compile(r"^    (\S.*)$", re.MULTILINE)


def _unpacked(content: bytes, folder: Path) -> Path:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        archive.extractall(folder)
    return folder


def _names(content: bytes) -> list[str]:
    return zipfile.ZipFile(io.BytesIO(content)).namelist()


@pytest.mark.parametrize(
    "run",
    [
        fake_run(),
        certified(told_run()),
        broken_run(),
        fake_run(mechanism="none"),
        fake_run(unit="client", sampling_rate=0.5),
        fake_run(rounds=(150, 150), mechanism="none"),
        masked_run(),
    ],
    ids=[
        "finished",
        "certified",
        "interrupted",
        "none",
        "sealed",
        "two bundles",
        "masked",
    ],
)
def test_the_bundle_verifies_elsewhere(
    run: FakeRun, dossier_of: MakeDossier, tmp_path: Path
) -> None:
    dossier = dossier_of(run)
    folder = _unpacked(evidence_bundle(dossier), tmp_path / "auditor")
    verdict = verify_run(folder)
    assert verdict.ok, [str(c) for c in verdict.checks if c.status == "FAIL"]
    assert verdict.root == dossier.verdict.root


def test_the_same_evidence_gives_the_same_bytes(dossier_of: MakeDossier) -> None:
    dossier = dossier_of(told_run())
    assert evidence_bundle(dossier, b"page") == evidence_bundle(dossier, b"page")


def test_order_and_times_do_not_depend_on_the_caller() -> None:
    one = pack({"b": b"2", "a": b"1"})
    assert one == pack({"a": b"1", "b": b"2"})
    entries = zipfile.ZipFile(io.BytesIO(one)).infolist()
    assert [entry.filename for entry in entries] == ["a", "b"]
    assert {entry.date_time for entry in entries} == {(1980, 1, 1, 0, 0, 0)}


def test_no_name_leads_outside(dossier_of: MakeDossier) -> None:
    for name in _names(evidence_bundle(dossier_of(certified(told_run())), b"page")):
        path = PurePosixPath(name)
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert re.fullmatch(r"[A-Za-z0-9._/-]+", name)


def test_what_must_stay_with_us_stays(dossier_of: MakeDossier) -> None:
    run = measured(fake_run(unit="client", sampling_rate=0.5))
    run.files["parties.json"] = b'{"Canary Hospital": "0"}'
    run.files["events.jsonl"] = b'{"type": "canary"}\n'
    run.files["keys/log.pem"] = b"canary private key"
    run.put(b"a canary blob that no entry cites")
    content = evidence_bundle(dossier_of(run))
    names = _names(content)
    assert not any(name.startswith("sealed/") for name in names)
    assert {"result.json", "metrics.csv", "parties.json"}.isdisjoint(names)
    assert [name for name in names if name.startswith("keys/")] == [
        "keys/coordinator.pub.pem",
        "keys/log.pub.pem",
    ]
    assert b"anary" not in content


def test_the_model_is_taken_along_only_as_logged(dossier_of: MakeDossier) -> None:
    assert "model.safetensors" in _names(evidence_bundle(dossier_of(fake_run())))
    run = fake_run()
    run.files["model.safetensors"] = b"another"
    assert "model.safetensors" not in _names(evidence_bundle(dossier_of(run)))
    del run.files["model.safetensors"]
    assert "model.safetensors" not in _names(evidence_bundle(dossier_of(run)))


def test_erased_content_stays_erased(dossier_of: MakeDossier, tmp_path: Path) -> None:
    run = fake_run()
    [tags] = run.of(FeatureTags)
    assert isinstance(tags.entry, FeatureTags)
    del run.blobs[tags.entry.tags]
    del run.files["tags.json"]
    run.add(Deletion(artefact="tags", digest=tags.entry.tags), "deletion/tags")
    content = evidence_bundle(dossier_of(run))
    assert f"log/blobs/sha256/{tags.entry.tags}" not in _names(content)
    assert "tags.json" not in _names(content)


def test_stamped_checkpoints_come_with_their_tiles(
    dossier_of: MakeDossier, tmp_path: Path
) -> None:
    long = fake_run(rounds=(150, 150), mechanism="none")
    folder = tmp_path / "run"
    for size in (7, 260):
        replace(long, drafts=long.drafts[:size]).write(folder)
        place(folder / f"log/timestamps/{size}.tsr", b"a token")
    long.write(folder)
    place(folder / "log/timestamps/9999.tsr", b"of a size to come")
    place(folder / "log/timestamps/strange", b"no token")
    dossier = build_dossier(read_evidence(folder), verify_run(folder))
    names = _names(evidence_bundle(dossier))
    assert "log/timestamps/7.tsr" in names
    assert "log/signed/7" in names
    assert "log/timestamps/strange" not in names
    assert "log/timestamps/9999.tsr" not in names
    assert "log/signed/260" in names
    assert "log/tile/entries/001.p/4" in names
    assert "log/tile/0/001.p/4" in names
    assert f"log/signed/{len(long.drafts)}" in names
    unpacked = _unpacked(evidence_bundle(dossier), tmp_path / "auditor")
    assert verify_run(unpacked).ok
    text = (unpacked / "VERIFY.txt").read_text()
    assert "openssl ts -verify -data log/signed/7 -in log/timestamps/7.tsr" in text


def _commands(dossier: Dossier, folder: Path) -> tuple[Path, list[str]]:
    unpacked = _unpacked(evidence_bundle(dossier, b"page"), folder)
    return unpacked, COMMAND.findall((unpacked / "VERIFY.txt").read_text())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
def test_the_printed_commands_do_what_is_printed(
    dossier_of: MakeDossier, tmp_path: Path
) -> None:
    folder, commands = _commands(dossier_of(certified(told_run())), tmp_path / "a")
    interpreter = Path(sys.executable).parent
    found = subprocess.run(
        ["sh", "-e", "-c", "\n".join(commands)],
        cwd=folder,
        env={**os.environ, "PATH": f"{interpreter}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    assert found.stdout.count("Signature Verified Successfully") == 2
    text = (folder / "VERIFY.txt").read_text()
    [leaf] = re.findall(r"^It must print: ([0-9a-f]{64})$", text, re.MULTILINE)
    assert leaf in found.stdout
    assert "every blob has its digest" in found.stdout
    assert "model.safetensors: OK" in found.stdout
    assert "claim.json: OK" in found.stdout
    assert "FAIL" not in found.stdout


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
@pytest.mark.parametrize(
    ("name", "number"), [("log/checkpoint", 3), ("model.safetensors", -2)]
)
def test_the_printed_commands_notice_a_change(
    name: str, number: int, dossier_of: MakeDossier, tmp_path: Path
) -> None:
    folder, commands = _commands(dossier_of(fake_run()), tmp_path / "a")
    content = bytearray((folder / name).read_bytes())
    content[0] ^= 1
    (folder / name).write_bytes(content)
    by_hand = [command for command in commands if "verify.py" not in command]
    found = subprocess.run(
        ["sh", "-e", "-c", "\n".join(by_hand)],
        cwd=folder,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert found.returncode != 0


def test_a_run_without_claim_has_no_digests_to_compare(
    dossier_of: MakeDossier, tmp_path: Path
) -> None:
    _, commands = _commands(dossier_of(fake_run(mechanism="none")), tmp_path / "a")
    assert not any("model.safetensors" in command for command in commands)
