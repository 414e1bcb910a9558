# SPDX-License-Identifier: Apache-2.0
"""`lexfed profile`: buy a profile, show it, and say how to train with it."""

import json
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from lexfed.cli import talk
from lexfed.cli.options import DEFAULT, AsJson, ConfigFile, OutFolderOption
from lexfed.cli.output import print_json
from lexfed.counted_words import counted
from lexfed.errors import ConfigError
from lexfed.report.markup.escaping import shortened

if TYPE_CHECKING:
    from lexfed.config.open_decisions import OpenConfig
    from lexfed.run import RunResult
    from lexfed.run.purchases.profile_purchase import BoughtProfile, PricedProfile
    from lexfed.sketch.profile.federation_profile import (
        ColumnProfile,
        FederationProfile,
    )

PAGE = "profile.html"
_WIDEST = 28  # longer names are cut
_PAIRS = 10  # so many pairs of sites are shown, those with the most in common first


def profile(
    config: ConfigFile = DEFAULT,
    epsilon: Annotated[
        float | None,
        Option(
            metavar="E", help="What it may cost a record; else a quarter of the budget."
        ),
    ] = None,
    out: OutFolderOption = None,
    resume: Annotated[
        bool, Option("--resume", help="Continue an interrupted profile.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Buy the ranges, values and overlaps of a federation, once."""
    from lexfed import run as runs
    from lexfed.cli.commands.training.run import show_training
    from lexfed.cli.inputs import located_errors
    from lexfed.config.examination import config_text
    from lexfed.run.purchases import profile_purchase as purchase

    opened = _load(config)
    folder = runs.folder_of(config, opened.config)
    folder = folder.with_name(f"{folder.name}-profile") if out is None else out
    price = purchase.default_epsilon(opened.config) if epsilon is None else epsilon
    with located_errors(config):
        earlier = folder if resume else None
        priced = purchase.priced_profile(opened, config.parent, price, earlier)
        begin = runs.resume if resume else runs.start
        text = config_text(config)
        running = begin(priced.priced, folder, text, config.parent)
    again = f"continue with `{_command(config, epsilon, out)} --resume`"
    result = show_training(
        priced.priced, running, again, _opening(priced), what="profile"
    )
    bought = purchase.BoughtProfile(result, purchase.keep_profile(priced, folder))
    show_profile(bought, as_json)


def show_profile(bought: "BoughtProfile", as_json: bool) -> None:
    """Write the page of a bought profile, print the profile, and say what is next."""
    from lexfed.durable import write_atomically
    from lexfed.report.profile.page import profile_html
    from lexfed.run.pricing.priced_run import claims_json

    folder, claim = bought.result.folder, bought.result.claim
    page = profile_html(bought.profile, claim_lines(bought.result))
    write_atomically(folder / PAGE, page.encode())
    if as_json:
        print_json(
            {
                "folder": str(folder),
                "claims": None if claim is None else claims_json(claim),
                "profile": json.loads(bought.profile.to_bytes()),
            }
        )
    else:
        print("\n".join(profile_lines(bought.profile)))
    talk.say(_closing(folder, bought.profile))


def _load(path: Path) -> "OpenConfig":
    from lexfed.cli.inputs import with_suggestions
    from lexfed.config.open_decisions import examine_open_file

    seen = examine_open_file(path)
    if seen.examination.config is None:
        raise ConfigError(with_suggestions(path, seen.examination.problems))
    for note in seen.examination.notes:
        # Metrics on test rows, and the like, are a matter of training.
        if note.key == "run.test":
            talk.warn(str(note), note.hint)
    return seen.require()


def _opening(found: "PricedProfile") -> list[str]:
    from lexfed.cli import display
    from lexfed.federation.planning.purchase_programmes import PERSONS
    from lexfed.run.purchases.profile_purchase import is_open

    priced = found.priced
    sought = [column.name for column in found.columns if is_open(column)]
    asked = f"{counted(len(found.columns), 'column')}"
    if sought:
        asked += f", of which these are open: {', '.join(sought)}"
    tables = [table for stage in priced.programme.stages for table in stage.tables]
    if any(table.domain == "keys" for table in tables):
        asked += f"; people that {counted(len(priced.programme.sites), 'site')} share"
    lines = [
        f"  law      {display.law_line(priced)}",
        *display.budget_lines(priced),
        f"  profile  {asked}",
    ]
    declared = [name for name in found.left_out if name != PERSONS]
    if declared:
        names = ", ".join(declared)
        lines.append(f"           left out, declared and hidden in noise: {names}")
    if PERSONS in found.left_out:
        lines.append(
            "           left out, since at this budget noise would hide it: how many "
            "people sites share"
        )
    return lines


def claim_lines(result: "RunResult") -> list[str]:
    """Return what a profile guarantees, for its page."""
    from lexfed.report.wording.plain_words import guarantee_in_brief
    from lexfed.report.wording.rounding import round_up

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


def _closing(folder: Path, known: "FederationProfile") -> str:
    from lexfed.cli import display

    still_open = [
        f"`{column.name}`"
        for column in known.columns
        if column.found and column.range is None and not column.words
    ]
    lines = [f"  audit    {display.audit_line(folder)}"]
    if still_open:
        lines.append(f"  open     nothing was found of {', '.join(still_open)}")
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


def profile_lines(profile: "FederationProfile") -> list[str]:
    """Return a line for each column, and the common persons, with 95 % intervals."""
    from lexfed.report.profile.wording import persons

    sites = len(profile.sites)
    where = f" at {counted(sites, 'site')}" if sites > 1 else ""
    head = (
        f"profile of {persons(profile.people)} declared{where}; intervals hold in 95 %"
    )
    return [head, *_columns(profile.columns), *_shared(profile)]


def _columns(columns: Sequence["ColumnProfile"]) -> Iterator[str]:
    from lexfed.report.profile.wording import NOTES

    rows = [("column", "kind", "missing", "range or values")]
    rows += [_row(column) for column in columns]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    for at, row in enumerate(rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield f"  {'  '.join([*cells, row[3]])}"
        for note in () if at == 0 else columns[at - 1].notes:
            yield f"    {NOTES[note]}"


def _row(column: "ColumnProfile") -> tuple[str, str, str, str]:
    from lexfed.report.profile.wording import gist, percent_text

    missing = "not known" if column.missing is None else percent_text(column.missing)
    found = " (found)" if column.found and (column.range or column.values) else ""
    name = shortened(column.name, _WIDEST)
    return name, column.kind, missing, gist(column) + found


def _shared(profile: "FederationProfile") -> Iterator[str]:
    from lexfed.report.profile.wording import interval, value_text

    if not profile.overlaps:
        return
    yield "people that two sites have in common"
    pairs = sorted(profile.overlaps, key=lambda pair: -(pair.persons.low or 0.0))
    for pair in pairs[:_PAIRS]:
        sides = (shortened(site, _WIDEST) for site in (pair.left, pair.right))
        names = " and ".join(sides)
        yield f"  {names}: {value_text(pair.persons)} ({interval(pair.persons)})"
    if len(pairs) > _PAIRS:
        yield f"  and {len(pairs) - _PAIRS} more pairs, with less in common"
