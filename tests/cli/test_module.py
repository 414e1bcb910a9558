# SPDX-License-Identifier: Apache-2.0
import subprocess
import sys

import lexfed


def test_the_package_runs_as_the_command() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "lexfed", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == f"lexfed {lexfed.__version__}\n"
