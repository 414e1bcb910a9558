# SPDX-License-Identifier: Apache-2.0
"""`lexfed profile`: buy a profile, show it, and say how to train with it."""

import json
import shlex
from pathlib import Path

from lexfed.cli import talk
from lexfed.cli.commands.training.run import show_training
from lexfed.cli.display import profiles, runs
from lexfed.cli.output import print_json
from lexfed.cli.problem_lines import located_errors
from lexfed.cli.tier_hints import with_suggestions
from lexfed.config.examination import config_text
from lexfed.config.open_decisions import OpenConfig, examine_open_file
from lexfed.durable import write_atomically
from lexfed.errors import ConfigError
from lexfed.federation.planning.purchase_programmes import PERSONS
from lexfed.report.profile.page import profile_html
from lexfed.report.wording.plain_words import guarantee_in_brief
from lexfed.report.wording.rounding import round_up
from lexfed.run import RunResult, folder_of, resume, start
from lexfed.run.pricing.priced_run import claims_json
from lexfed.run.purchases.profile_purchase import (
    BoughtProfile,
    PricedProfile,
    default_epsilon,
    is_open,
    keep_profile,
    priced_profile,
)
from lexfed.sketch.profile.federation_profile import FederationProfile

PAGE = "profile.html"


def profile(
    path: Path, epsilon: float | None, out: Path | None, resuming: bool, as_json: bool
) -> None:
    """Release a profile, and print it."""
    opened = _load(path)
    run = folder_of(path, opened.config)
    folder = run.with_name(f"{run.name}-profile") if out is None else out
    price = default_epsilon(opened.config) if epsilon is None else epsilon
    with located_errors(path):
        found = priced_profile(opened, path.parent, price, folder if resuming else None)
        text = config_text(path)
        begin = resume if resuming else start
        running = begin(found.priced, folder, text, path.parent)
    again = f"continue with `{_command(path, epsilon, out)} --resume`"
    lines = opening(found)
    result = show_training(found.priced, running, again, lines, "profile")
    bought = BoughtProfile(result, keep_profile(found, folder))
    write_page(bought)
    if as_json:
        print_json(plain(bought))
    else:
        print("\n".join(profiles.lines(bought.profile)))
    talk.say(closing(folder, bought.profile))


def write_page(bought: BoughtProfile) -> None:
    """Write the page of a profile beside it."""
    page = profile_html(bought.profile, claim_lines(bought.result))
    write_atomically(bought.result.folder / PAGE, page.encode())


def _load(path: Path) -> OpenConfig:
    seen = examine_open_file(path)
    if seen.found.config is None:
        raise ConfigError(with_suggestions(path, seen.found.problems))
    for note in seen.found.notes:
        # Metrics on test rows, and the like, are a matter of training.
        if note.key == "run.test":
            talk.warn(str(note), note.hint)
    return seen.require()


def opening(found: PricedProfile) -> list[str]:
    """Return what is said before anything is asked."""
    priced = found.priced
    sought = [column.name for column in found.columns if is_open(column)]
    asked = f"{len(found.columns)} columns"
    if sought:
        asked += f", of which these are open: {', '.join(sought)}"
    keys = [table for stage in priced.programme.stages for table in stage.tables]
    if any(table.domain == "keys" for table in keys):
        asked += f"; persons that {len(priced.programme.sites)} sites share"
    lines = [
        f"  law      {runs.law_line(priced)}",
        *runs.budget_lines(priced),
        f"  profile  {asked}",
    ]
    declared = [name for name in found.left_out if name != PERSONS]
    if declared:
        names = ", ".join(declared)
        lines.append(f"           left out, declared and hidden in noise: {names}")
    if PERSONS in found.left_out:
        lines.append(
            "           left out, since at this budget noise would hide it: how many "
            "persons sites share"
        )
    return lines


def claim_lines(result: RunResult) -> list[str]:
    """Return what a profile guarantees, for its page."""
    if result.claim is None:  # pragma: no cover - a profile is always private
        return []
    stamp = [result.claim.stamp] if result.claim.stamp else []
    tiers = [
        f"{name}: {round_up(tier.epsilon)} per attribute ({', '.join(tier.columns)})"
        for name, tier in reversed(result.claim.tiers.items())
    ]
    epsilon = round_up(result.claim.label.epsilon)
    label = f"label: {epsilon} when replaced; no cap binds it"
    return [*stamp, guarantee_in_brief(result.claim), *tiers, label]


def closing(folder: Path, known: FederationProfile) -> str:
    """Return what is said at the end."""
    open_still = [
        f"`{column.name}`"
        for column in known.columns
        if column.found and column.range is None and not column.words
    ]
    lines = [f"  audit    {runs.audit_line(folder)}"]
    if open_still:
        lines.append(f"  open     nothing was found of {', '.join(open_still)}")
    lines += [
        f"\nProfile: {folder}; the page is `{folder / PAGE}`",
        f"`lexfed init --profile {shlex.quote(str(folder))}` writes a configuration "
        "with what was found; the run then has the rest of the budget",
    ]
    return "\n".join(lines)


def _command(path: Path, epsilon: float | None, out: Path | None) -> str:
    words = ["lexfed", "profile", str(path)]
    words += [] if epsilon is None else ["--epsilon", f"{epsilon:g}"]
    words += [] if out is None else ["--out", str(out)]
    return shlex.join(words)


def plain(bought: BoughtProfile) -> dict[str, object]:
    """Return a profile and its claims under their fixed names."""
    claim = bought.result.claim
    return {
        "folder": str(bought.result.folder),
        "claims": None if claim is None else claims_json(claim),
        "profile": json.loads(bought.profile.to_bytes()),
    }
