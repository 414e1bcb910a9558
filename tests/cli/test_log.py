# SPDX-License-Identifier: Apache-2.0
"""`lexfed log ...` as people use it, with their mistakes, and what they are told."""

import json
import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from lexfed.audit.log.access import open_for_appending
from lexfed.audit.tree.proof_files import InclusionProof
from lexfed.audit.tree.trust_policy import parse_policy
from lexfed.config import load
from lexfed.errors import AuditError
from lexfed.run import load_population, price, start, train
from support.configurations import configuration

Lexfed = Callable[..., Any]

CONFIG = configuration(
    {
        "run.name": "visits",
        "federation.engine": "inprocess",
        "audit.origin": "audit.example.org/visits",
    }
)

RUN = "runs/visits"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder in which a run has ended."""
    folder = tmp_path_factory.mktemp("trained")
    path = folder / "lexfed.toml"
    path.write_text(CONFIG)
    config = load(path)
    priced = price(config, load_population(config, folder))
    train(priced, start(priced, folder / RUN, CONFIG, folder))
    return folder


@pytest.fixture
def folder(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, to stand in."""
    shutil.copytree(trained, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def verified(lexfed: Lexfed, *more: str) -> str:
    said = lexfed("verify", RUN, *more)
    assert said.code == 0, said.out + said.err
    return str(said.out)


def last(lexfed: Lexfed) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(lexfed("log", "show", RUN, "--json").out)[-1]
    return found


# Looking


def test_show_lists_entries(lexfed: Lexfed, folder: Path) -> None:
    said = lexfed("log", "show", RUN)
    assert said.code == 0
    assert said.err == ""
    lines = [line.split() for line in said.out.splitlines()]
    assert [line[0] for line in lines] == [str(n) for n in range(len(lines))]
    assert [line[2] for line in lines][:5] == [
        "genesis", "policy", "feature-tags", "budget-plan", "round",
    ]  # fmt: skip
    assert lines[-1][2:] == ["certificate", "certificate/completed"]


def test_show_prints_an_entry_whole(lexfed: Lexfed, folder: Path) -> None:
    entry = json.loads(lexfed("log", "show", RUN, "4").out)
    assert (entry["index"], entry["kind"], entry["key"]) == (4, "round", "round/1")
    assert entry["entry"]["participation"]["sites"] == 3
    every = json.loads(lexfed("log", "show", RUN, "--json").out)
    assert every[4] == entry


def test_show_what_is_not_there(lexfed: Lexfed, folder: Path) -> None:
    said = lexfed("log", "show", RUN, "99")
    assert (said.code, said.out) == (1, "")
    assert said.err.startswith("error: `runs/visits` has 13 entries, no entry 99")
    assert lexfed("log", "show", RUN, "--", "-1").code == 2
    for wrong in ("runs", "elsewhere", "lexfed.toml"):
        said = lexfed("log", "show", wrong)
        assert said.code == 2
        assert f"error: `{wrong}` holds no log that can be opened" in said.err
        assert "hint: give the folder of a run" in said.err


def test_without_a_command_the_help_is_shown(lexfed: Lexfed) -> None:
    said = lexfed("log")
    assert said.code == 2
    for command in ("show", "prove", "add", "certify", "key", "cosign", "erase"):
        assert command in said.err


def test_a_changed_log_is_not_shown(lexfed: Lexfed, folder: Path) -> None:
    bundle = folder / RUN / "log/tile/entries/000.p/13"
    bundle.write_bytes(bundle.read_bytes().replace(b"payload", b"paylaod", 1))
    said = lexfed("log", "show", RUN)
    assert (said.code, said.out) == (1, "")
    assert "Traceback" not in said.err


# Proofs


def test_prove_gives_two_files_that_need_nothing_else(
    lexfed: Lexfed, folder: Path
) -> None:
    key = lexfed("log", "key", RUN).out
    said = lexfed("log", "prove", RUN, "6")
    assert said.code == 0
    assert said.err == (
        "wrote entry-6.json (the entry's bytes) and entry-6.tlog-proof (its proof)\n"
    )
    shutil.rmtree("runs")
    proof = InclusionProof.parse(Path("entry-6.tlog-proof").read_bytes())
    policy = parse_policy(f"{key}quorum none\n".encode())
    entry = Path("entry-6.json").read_bytes()
    assert proof.verify(entry, policy).signed.checkpoint.size == 13
    with pytest.raises(AuditError):
        proof.verify(entry + b" ", policy)


def test_prove_writes_where_it_is_told(lexfed: Lexfed, folder: Path) -> None:
    (folder / "out").mkdir()
    assert lexfed("log", "prove", RUN, "0", "--out", "out/first.proof").code == 0
    found = sorted(path.name for path in (folder / "out").iterdir())
    assert found == ["first.json", "first.proof"]


@pytest.mark.parametrize("out", ["proof.json", ".", "runs"])
def test_a_proof_and_its_entry_need_two_names(
    lexfed: Lexfed, folder: Path, out: str
) -> None:
    said = lexfed("log", "prove", RUN, "0", "--out", out)
    assert said.code == 2
    assert f"error: `{out}` is not a name for a proof" in said.err
    assert "hint: such as `--out entry-0.tlog-proof`" in said.err
    assert not (folder / "proof.json").exists()


def test_prove_what_is_not_there(lexfed: Lexfed, folder: Path) -> None:
    said = lexfed("log", "prove", RUN, "13")
    assert said.code == 1
    assert "has 13 entries, no entry 13" in said.err
    said = lexfed("log", "prove", RUN, "0", "--out", "missing/x.proof")
    assert said.code == 2
    assert "error: cannot write" in said.err


# Appending


def test_add_a_document_and_certify(lexfed: Lexfed, folder: Path) -> None:
    (folder / "dpia.pdf").write_bytes(b"an assessment")
    stated = ("what=dpia", "digest=@dpia.pdf", "issued=2026-10-01")
    said = lexfed("log", "add", RUN, "document", *stated)
    assert (said.code, said.out, said.err) == (0, "", "entry 13: document\n")
    entry = json.loads(lexfed("log", "show", RUN, "13").out)["entry"]
    assert entry["digest"] == sha256(b"an assessment").hexdigest()
    again = lexfed("log", "add", RUN, "document", *stated)
    assert again.err == "entry 13: document says the same already\n"
    said = lexfed("log", "certify", RUN)
    assert said.err == (
        "entry 14: certificate on entries 0-13\n"
        "shown: 5 of the 12 rules that software can show; 0 of the 47 that need "
        "statements or documents of people\n"
    )
    results = last(lexfed)["entry"]["results"]
    assert 13 in [index for result in results for index in result["evidence"]]
    verified(lexfed)


MISTAKES = {
    "no value": (
        ("document", "dpia"), 1, "expected `name=value`, got: `dpia`", "",
    ),
    "twice": (
        ("incident", "what=a", "what=b"), 1, "`what` is stated twice", "",
    ),
    "no such kind": (
        ("note", "text=hello"), 1, "entries of kind `note` are not made by hand",
        "choose one of change, correction, deletion, document, incident",
    ),
    "free text": (
        ("incident", "what=the key was stolen", "aware_at=2026-11-15T12:00:00Z"), 1,
        "`incident`: `what`: expected one word without spaces", "what=WORD",
    ),
    "no such file": (
        ("document", "what=dpia", "digest=@gone.pdf", "issued=2026-10-01"), 2,
        "cannot read `gone.pdf`: no such file or directory", "",
    ),
    "nothing stated": (("document",), 2, "missing argument 'NAME=VALUE", "--help"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_statement_that_is_wrong(lexfed: Lexfed, folder: Path, name: str) -> None:
    arguments, code, message, hint = MISTAKES[name]
    said = lexfed("log", "add", RUN, *arguments)
    assert (said.code, said.out) == (code, "")
    assert said.err.startswith("error: ")
    assert message in said.err
    assert hint in said.err
    assert len(lexfed("log", "show", RUN).out.splitlines()) == 13


def test_the_keys_are_elsewhere(lexfed: Lexfed, folder: Path) -> None:
    shutil.move("keys", "safe")
    statement = ("log", "add", RUN, "deletion", "artefact=backup")
    said = lexfed(*statement)
    assert said.code == 2
    assert "does not hold the coordinator's key" in said.err
    assert "hint: name the folder with the keys of this run (`--keys DIR`" in said.err
    assert lexfed(*statement, "--keys", "safe").err == "entry 13: deletion\n"
    # A copy for readers does not say where its keys are.
    (folder / RUN / "events.jsonl").unlink()
    said = lexfed("log", "certify", RUN)
    assert said.code == 2
    assert "does not say where its keys are" in said.err
    assert lexfed("log", "certify", RUN, "--keys", "safe").code == 0


def test_keys_that_others_can_read(lexfed: Lexfed, folder: Path) -> None:
    os.chmod("keys/log.pem", 0o644)
    said = lexfed("log", "certify", RUN)
    assert said.code == 2
    assert "is open to other users (mode 644)" in said.err
    assert "hint: `chmod 600 " in said.err


def test_one_writer_at_a_time(lexfed: Lexfed, folder: Path) -> None:
    log = open_for_appending(Path(RUN))
    said = lexfed("log", "certify", RUN)
    log.close()
    assert said.code == 2
    assert "Traceback" not in said.err
    assert lexfed("log", "certify", RUN).code == 0


# Erasing


def test_erase_a_text(lexfed: Lexfed, folder: Path) -> None:
    (folder / "why.txt").write_text("the wrong Mrs Miller")
    digest = sha256(b"the wrong Mrs Miller").hexdigest()
    lexfed("log", "add", RUN, "correction", "index=2", "reason=@why.txt")
    blob = folder / RUN / "log/blobs/sha256" / digest
    assert blob.read_text() == "the wrong Mrs Miller"
    said = lexfed("log", "erase", RUN, digest)
    assert (said.code, said.err) == (0, "erased; entry 14 says so\n")
    assert last(lexfed)["entry"] == {"artefact": "blob", "digest": digest}
    for path in (folder / RUN).rglob("*"):
        assert not path.is_file() or b"Miller" not in path.read_bytes()
    verified(lexfed)
    said = lexfed("log", "erase", RUN, digest)
    assert said.code == 1
    assert "was erased" in said.err


@pytest.mark.parametrize(
    ("digest", "message"),
    [("0" * 64, "is missing"), ("why.txt", "not a SHA-256"), ("../../x", "not a SHA")],
)
def test_erase_what_is_not_there(
    lexfed: Lexfed, folder: Path, digest: str, message: str
) -> None:
    said = lexfed("log", "erase", RUN, digest)
    assert said.code == 1
    assert message in said.err
    assert len(lexfed("log", "show", RUN).out.splitlines()) == 13


def test_erase_what_the_numbers_rest_on(lexfed: Lexfed, folder: Path) -> None:
    plan = json.loads(lexfed("log", "show", RUN, "3").out)["entry"]["releases"]
    said = lexfed("log", "erase", RUN, plan)
    assert said.code == 2
    assert "error: entry 3 (`budget-plan`) cannot be verified without it" in said.err
    assert "hint: verification would fail from then on; `--anyway`" in said.err
    verified(lexfed)
    assert lexfed("log", "erase", RUN, plan, "--anyway").code == 0
    # It was erased, so nothing can be computed from it: that is said, not hidden.
    said = lexfed("verify", RUN)
    assert said.code == 1
    assert f"FAIL budget plan         blob `{plan}` was erased" in said.out


# Keys


def test_the_key_of_a_log_is_a_line_of_a_trust_file(
    lexfed: Lexfed, folder: Path
) -> None:
    said = lexfed("log", "key", RUN)
    assert said.code == 0
    assert said.out.startswith("log audit.example.org/visits/")
    (folder / "trust.policy").write_text(f"{said.out}quorum none\n")
    out = verified(lexfed, "--policy", "trust.policy")
    assert "OK   log key" in out
    whole = lexfed("log", "key", RUN, "--project").out
    assert whole.startswith("log audit.example.org/visits/*+")
    assert whole.rpartition("+")[2] == said.out.rpartition("+")[2]


@pytest.mark.parametrize("role", ["coordinator", "log"])
def test_rotate(lexfed: Lexfed, folder: Path, role: str) -> None:
    (folder / "trust.policy").write_text(
        lexfed("log", "key", RUN).out + "quorum none\n"
    )
    kept = (folder / RUN / "log/checkpoint").read_bytes()
    (folder / "kept").write_bytes(kept)
    said = lexfed("log", "rotate", RUN, role)
    assert said.code == 0
    path = f"keys/{role}-2.pem"
    assert said.err == f"entry 13: `{path}` signs from now on; keep the old key\n"
    assert (folder / f"keys/{role}-2.pem").stat().st_mode & 0o777 == 0o600
    assert lexfed("log", "add", RUN, "deletion", "artefact=backup").code == 0
    # Who knows the old key and an old checkpoint can follow.
    verified(lexfed, "--policy", "trust.policy", "--pin", "kept")
    # A new run of this project signs with the new key from the start.
    text = (folder / "lexfed.toml").read_text()
    (folder / "lexfed.toml").write_text(text.replace('"visits"\nseed', '"next"\nseed'))
    assert lexfed("run").code == 0
    new = lexfed("log", "key", "runs/next").out.rpartition("+")[2]
    assert new == lexfed("log", "key", RUN).out.rpartition("+")[2]
    assert lexfed("verify", "runs/next").code == 0


def test_rotate_nobodys_key(lexfed: Lexfed, folder: Path) -> None:
    said = lexfed("log", "rotate", RUN, "site")
    assert said.code == 2
    assert "coordinator" in said.err
    assert not list((folder / "keys").glob("*-2.pem"))


# Copies


def test_a_drill_with_a_good_copy(lexfed: Lexfed, folder: Path) -> None:
    shutil.copytree(RUN, "restored")
    lexfed("log", "add", RUN, "deletion", "artefact=backup")
    said = lexfed("log", "drill", RUN, "restored")
    assert said.code == 0
    assert said.err == "entry 14: the copy of 13 entries has the same root\n"
    entry = last(lexfed)["entry"]
    assert (entry["what"], entry["size"]) == ("restore-drill", 13)
    assert entry["digest"] == entry["root"]
    verified(lexfed)
    # The drill is repeated every year.
    assert "entry 15: " in lexfed("log", "drill", RUN, "restored").err


def test_a_drill_with_another_history(lexfed: Lexfed, folder: Path) -> None:
    shutil.copytree(RUN, "restored")
    shutil.copytree("keys", "other")
    shutil.rmtree("other/pins")
    lexfed("log", "add", "restored", "deletion", "artefact=x", "--keys", "other")
    lexfed("log", "add", RUN, "deletion", "artefact=y")
    said = lexfed("log", "drill", RUN, "restored")
    assert said.code == 1
    assert said.err == "entry 14: the copy of 14 entries has ANOTHER ROOT\n"
    entry = last(lexfed)["entry"]
    assert entry["digest"] != entry["root"]
    verified(lexfed)  # that a drill failed is no fault of the log


def test_a_drill_with_something_else(lexfed: Lexfed, folder: Path) -> None:
    shutil.copytree(RUN, "longer")
    lexfed("log", "add", RUN, "deletion", "artefact=x")
    shutil.rmtree("keys/pins")
    said = lexfed("log", "drill", "longer", RUN, "--keys", "keys")
    assert said.code == 1
    assert f"`{RUN}` is not a copy of the log of `longer`" in said.err
    said = lexfed("log", "drill", RUN, f"{RUN}/../visits")
    assert said.code == 1
    assert "is the run itself" in said.err
    said = lexfed("log", "drill", RUN, "missing")
    assert said.code == 2
    assert "`missing` holds no log" in said.err
