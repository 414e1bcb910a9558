# SPDX-License-Identifier: Apache-2.0
"""Judges that are not part of the package."""

import os

import pytest

from support.log.judge import Judge, NoJudge, build


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """golang.org/x/mod behind a small program; built once for all workers."""
    base = tmp_path_factory.getbasetemp()
    # Workers of xdist have a folder each, below one that they share.
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / "judge"
    folder.mkdir(exist_ok=True)
    try:
        return build(folder)
    except NoJudge as reason:
        pytest.skip(str(reason))
