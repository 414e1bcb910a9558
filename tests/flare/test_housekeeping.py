# SPDX-License-Identifier: Apache-2.0
"""Folders of jobs and files that only grow come to an end."""

import os
import uuid
from pathlib import Path
from typing import Any

import pytest
from nvflare.fuel.sec.audit import Auditor

from lexfed.federation.flare.hardening import limits
from lexfed.federation.flare.hardening.limits import (
    bound_audit,
    forget_jobs,
    rotate,
)
from lexfed.federation.flare.kit.folder import Kit


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    made = Kit(tmp_path, "trial", "site", "north", "h", 1, "0" * 64, ("north", "south"))
    (made.flare_folder / "storage" / "jobs").mkdir(parents=True)
    return made


def test_the_latest_jobs_stay_and_nothing_else_goes(kit: Kit) -> None:
    places = (kit.flare_folder, kit.flare_folder / "storage" / "jobs")
    names = [str(uuid.uuid4()) for _ in range(5)]
    for place in places:
        for age, name in enumerate(names):
            (place / name / "app").mkdir(parents=True)
            os.utime(place / name, (1e9 - age, 1e9 - age))
    for other in ("startup", "local", "inner", f"{names[0]}-x"):
        (kit.flare_folder / other).mkdir()
        os.utime(kit.flare_folder / other, (0, 0))
    forget_jobs(kit, kept=2)
    for place in places:
        left = {each.name for each in place.iterdir()} & set(names)
        assert left == set(names[:2])
    others = {each.name for each in kit.flare_folder.iterdir()} - set(names)
    assert others == {"startup", "local", "inner", "storage", f"{names[0]}-x"}
    forget_jobs(kit)  # fewer than it keeps
    assert (kit.flare_folder / names[1]).is_dir()


def test_a_site_has_no_store(tmp_path: Path) -> None:
    forget_jobs(Kit(tmp_path, "t", "site", "north", "h", 1, "0" * 64, ("north",)))
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LONG", 200)
    for name in ("add_event", "add_job_event"):
        monkeypatch.setattr(Auditor, name, getattr(Auditor, name))


def test_ten_files_and_no_more(tmp_path: Path, short: Any) -> None:
    path = tmp_path / "audit.log"
    rotate(path)  # not there
    for number in range(14):
        path.write_text(f"{number}\n" + "x" * 200)
        rotate(path)
        assert not path.exists()
    path.write_text("short")
    rotate(path)
    assert path.read_text() == "short"
    kept = [tmp_path / f"audit.log.{n}" for n in range(1, 11)]
    assert [int(each.read_text().split()[0]) for each in kept] == list(range(13, 3, -1))
    assert len(list(tmp_path.iterdir())) == 11


def test_the_list_of_commands_is_bounded(tmp_path: Path, short: Any) -> None:
    bound_audit()
    path = tmp_path / "audit.log"
    auditor = Auditor(str(path))
    ids = [auditor.add_event("admin", "list_jobs") for _ in range(20)]
    ids.append(auditor.add_job_event(job_id="j", msg="m"))
    auditor.close()
    assert auditor.add_event("admin", "late") == ""
    files = list(tmp_path.iterdir())
    assert 2 < len(files) <= 11
    assert all(each.stat().st_size < 400 for each in files)
    text = "".join(each.read_text() for each in files)
    assert ids[-1] in text
    assert ids[-8] in text
