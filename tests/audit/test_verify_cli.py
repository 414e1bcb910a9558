# SPDX-License-Identifier: Apache-2.0
"""`lexfed verify`: lines, JSON and exit codes."""

import json
from pathlib import Path

import pytest

from lexfed.audit.verify import verify_run
from lexfed.cli import app
from support.audit.worlds import fake_run


@pytest.fixture
def lexfed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> "Lexfed":
    return Lexfed(monkeypatch, capsys)


class Lexfed:
    """The command line in this process."""

    def __init__(
        self, patch: pytest.MonkeyPatch, captured: pytest.CaptureFixture[str]
    ) -> None:
        self.patch, self.captured = patch, captured

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        self.patch.setattr("sys.argv", ["lexfed", "verify", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            app.main()
        said = self.captured.readouterr()
        assert "Traceback" not in said.err
        return int(str(ended.value.code)), said.out, said.err


def test_a_sound_run(lexfed: Lexfed, tmp_path: Path) -> None:
    folder = fake_run().write(tmp_path / "run")
    code, out, err = lexfed(folder)
    assert code == 0
    assert out.splitlines() == [str(check) for check in verify_run(folder).checks]
    assert out.startswith("OK   log                 9 entries, root ")
    assert "verified, 17 claims hold" in err
    code, out, _ = lexfed(folder, "--json")
    assert code == 0
    assert json.loads(out) == verify_run(folder).to_json()


def test_a_run_that_fails(lexfed: Lexfed, tmp_path: Path) -> None:
    run = fake_run()
    run.files["config.toml"] = b""
    folder = run.write(tmp_path / "run")
    code, out, err = lexfed(folder)
    assert code == 1
    assert "FAIL files               entry 0: `config.toml`" in out
    assert "NOT VERIFIED, 1 of 17 claims fail" in err
    code, out, _ = lexfed(folder, "--json")
    assert code == 1
    plain = json.loads(out)
    assert not plain["ok"]
    assert [c["index"] for c in plain["checks"] if c["status"] == "FAIL"] == [0]


def test_a_folder_without_a_log(lexfed: Lexfed, tmp_path: Path) -> None:
    code, out, err = lexfed(tmp_path)
    assert (code, out) == (2, "")
    assert "holds no log" in err


def test_policy_and_pin_files(lexfed: Lexfed, tmp_path: Path) -> None:
    folder = fake_run().write(tmp_path / "run")
    (tmp_path / "policy").write_bytes(b"quorum none\n")
    (tmp_path / "long").write_bytes(b"#" * (1 << 21))
    pin = folder / "log/checkpoint"
    assert lexfed(folder, "--pin", pin, "--policy", tmp_path / "policy")[0] == 0
    for wrong, code in (("long", 2), ("missing", 2), (".", 2), ("run/config.toml", 1)):
        assert lexfed(folder, "--policy", tmp_path / wrong)[0] == code
        assert lexfed(folder, "--pin", tmp_path / wrong)[0] == code
