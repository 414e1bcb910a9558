# SPDX-License-Identifier: Apache-2.0
"""Completion in shells: what they ask, what they install, and what it costs."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lexfed.cli import completion

Lexfed = Callable[..., Any]
HEAVY = ("torch", "numpy", "pandas", "scipy", "sklearn", "pyarrow", "lexfed.run")
PROGRAM = """
import sys
from lexfed.cli import main
try: main()
finally: print(sorted(set({heavy!r}) & set(sys.modules)), file=sys.stderr)
"""


def ask(shell: str, words: str) -> subprocess.CompletedProcess[str]:
    """Ask as the script of a shell does: what may follow these words?"""
    asked = {
        "_LEXFED_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": words,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    return subprocess.run(
        [sys.executable, "-c", PROGRAM.format(heavy=HEAVY)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **asked},
    )


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_get_commands_and_options_and_import_little(shell: str) -> None:
    commands = ask(shell, "lexfed pl")
    assert "plan" in commands.stdout
    assert "verify" not in commands.stdout
    assert commands.stderr == "[]\n"
    options = ask(shell, "lexfed run --res")
    assert "--resume" in options.stdout
    assert options.stderr == "[]\n"


@pytest.mark.parametrize(
    ("shell", "file", "words"),
    [
        ("bash", ".bash_completions/lexfed.sh", "complete -o default -F"),
        ("zsh", ".zfunc/_lexfed", "#compdef lexfed"),
        ("fish", ".config/fish/completions/lexfed.fish", "complete --command lexfed"),
    ],
)
def test_scripts_are_shown_and_installed(
    lexfed: Lexfed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    shell: str, file: str, words: str,
) -> None:  # fmt: skip
    monkeypatch.setenv("HOME", str(tmp_path))
    shown = lexfed("--show-completion", shell)
    assert shown.code == 0
    assert words in shown.out
    said = lexfed("--install-completion", shell)
    assert said.code == 0
    assert (
        said.err == f"wrote {tmp_path / file}; completion works in every new {shell}\n"
    )
    assert (tmp_path / file).read_text().strip() == shown.out.strip()


def test_the_shell_in_use_is_found(
    lexfed: Lexfed, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shellingham

    def unknown() -> None:
        raise shellingham.ShellDetectionFailure

    monkeypatch.setattr(shellingham, "detect_shell", lambda: ("fish", "/bin/fish"))
    assert "complete --command lexfed" in lexfed("--show-completion").out
    monkeypatch.setattr(shellingham, "detect_shell", unknown)
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert "#compdef lexfed" in lexfed("--show-completion").out
    monkeypatch.setenv("SHELL", "/usr/bin/tcsh")
    refused = lexfed("--show-completion")
    assert refused.code == 2
    assert "'tcsh' is not one of 'bash', 'zsh', 'fish'" in refused.err
    monkeypatch.delenv("SHELL")
    assert "requires an argument" in lexfed("--install-completion").err
    assert completion.with_shell(["run"]) == ["run"]


@pytest.mark.skipif(not Path("/bin/bash").exists(), reason="needs bash")
def test_bash_completes_with_its_script(tmp_path: Path) -> None:
    program = tmp_path / "lexfed"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lexfed "$@"\n')
    program.chmod(0o755)
    script = f"""
        PATH={tmp_path}:$PATH
        source <(lexfed --show-completion bash)
        COMP_WORDS=(lexfed ver); COMP_CWORD=1
        _lexfed_completion lexfed
        echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["/bin/bash", "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "verify"
