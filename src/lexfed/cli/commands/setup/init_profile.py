# SPDX-License-Identifier: Apache-2.0
"""`lexfed init --profile`: a configuration with what a profile has learned in it."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from lexfed.audit.log.evidence import read_evidence
from lexfed.audit.log.logged_files import CONFIG, PROFILE, read_logged
from lexfed.cli import talk
from lexfed.cli.output import write_new
from lexfed.config.edits import LearnedDomain, with_learned_domains
from lexfed.config.open_decisions import examine_open
from lexfed.errors import RunFolderError
from lexfed.run.driver.open_run import base_of
from lexfed.run.earlier_runs import MAKE
from lexfed.sketch.profile.federation_profile import FederationProfile

DEFAULT = "profiled.toml"


def init_from_profile(folder: Path, out: Path | None) -> None:
    """Write the configuration of a profile with the domains that it has learned."""
    evidence = read_evidence(folder)
    told = read_logged(evidence, PROFILE)
    config = read_logged(evidence, CONFIG)
    if told is None or config is None:
        raise RunFolderError(f"`{folder}` holds no finished profile", MAKE)
    known = FederationProfile.from_bytes(told, str(folder / PROFILE))
    base, text = base_of(folder), config.decode()
    target = base / DEFAULT if out is None else out
    if target.parent.resolve() != base.resolve():
        raise RunFolderError(
            f"paths in the configuration are relative to `{base}`, where the profile "
            "was started",
            f"write it there: `--out {shlex.quote(str(base / target.name))}`",
        )
    open_columns = examine_open(text, str(folder / "config.toml")).require().columns
    learned = learned_columns(known, open_columns)
    source = os.path.relpath(folder, base)
    write_new(
        target, with_learned_domains(text, learned, source, str(folder / "config.toml"))
    )
    _say(target, known, learned, open_columns)


def learned_columns(
    known: FederationProfile, columns: tuple[str, ...]
) -> dict[str, LearnedDomain]:
    """Return what a profile has found of open columns."""
    learned = {}
    for name in columns:
        column = known.column(name)
        if column is not None and column.range is not None:
            learned[name] = LearnedDomain(range=column.range)
        elif column is not None and column.words:
            learned[name] = LearnedDomain(values=column.words)
    return learned


def _say(
    target: Path,
    known: FederationProfile,
    learned: Mapping[str, LearnedDomain],
    columns: tuple[str, ...],
) -> None:
    names = ", ".join(learned) or "nothing"
    talk.say(f"wrote {target}, filled in from the profile: {names}")
    for name in columns:
        if known.column(name) is None:
            talk.say(
                f"`{name}` is still open and was not profiled: if it is a key, make it "
                '`kind = "text"`, else declare it from public knowledge'
            )
        elif name not in learned:
            talk.say(
                f"`{name}` is still open, since nothing was found: declare it from "
                "public knowledge, or remove it"
            )
    file = shlex.quote(str(target))
    talk.say(f"what the profile cost is taken off the budget: `lexfed check {file}`")
