# SPDX-License-Identifier: Apache-2.0
"""The page of a profile: one file that opens anywhere, asks nobody and runs nothing.

Names of columns, sites and values are whatever somebody wrote; `page_templates` makes
them harmless.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from lexfed.report.markup import page_templates
from lexfed.report.markup.escaping import visible
from lexfed.report.profile import plots
from lexfed.report.profile.wording import (
    NOTES,
    exact,
    gist,
    interval,
    number,
    percent,
    percent_text,
    persons,
    value_text,
)
from lexfed.report.wording.plain_words import tier_name
from lexfed.sketch.profile.answers import ProfiledNumber
from lexfed.sketch.profile.federation_profile import ColumnProfile, FederationProfile

_NOTHING = Markup("")
_QUARTILES = {0.25: "first quarter", 0.5: "half, the median", 0.75: "three quarters"}
_VALUES = 40  # so many values of a column are drawn

_PAIRS = 40
"""So many pairs of sites are listed, those that are most alike or apart first."""


@dataclass(frozen=True)
class ProfileRow:
    """A number with its interval in a table, with its drawing."""

    name: str
    drawing: Markup
    value: str
    interval: str
    remark: str = ""


@dataclass(frozen=True)
class ColumnSection:
    """The section of the page about one column."""

    column: ColumnProfile
    anchor: str
    tier: str
    gist: str
    missing: ProfileRow | None
    spark: Markup | None
    figure: Markup | None
    marked: bool
    beyond: str
    quantiles: tuple[ProfileRow, ...]
    values: tuple[ProfileRow, ...]
    more_values: int
    notes: tuple[str, ...]


def profile_html(profile: FederationProfile, claim_lines: Sequence[str]) -> str:
    """Return the page; `claim_lines` state cost and guarantee, a sentence each.

    Guarantees:
        No script, no address that a browser would fetch.
        Text of others is shown as text, whatever it looks like.
        Every number that was computed from data stands with its interval.
    """
    sections = [_section(at, each) for at, each in enumerate(profile.columns)]
    apart = sum(len(column.distances) for column in profile.columns)
    return page_templates.page(
        "profile.html",
        people=persons(profile.people),
        sites=profile.sites,
        claim_lines=claim_lines,
        sections=sections,
        overlaps=_overlaps(profile),
        more_overlaps=max(len(profile.overlaps) - _PAIRS, 0),
        elsewhere=_elsewhere(profile),
        distances=_distances(profile),
        more_distances=max(apart - _PAIRS, 0),
    )


def _section(at: int, column: ColumnProfile) -> ColumnSection:
    bars = column.histogram
    name = visible(column.name)
    return ColumnSection(
        column=column,
        anchor=f"column-{at + 1}",
        tier=tier_name(column.tier),
        gist=gist(column),
        missing=None if column.missing is None else _share(column.missing),
        spark=_spark(column, name),
        figure=None
        if bars is None
        else plots.histogram(bars, column.quantiles, column.range, f"people by {name}"),
        marked=bars is not None and bool(plots.marks(bars, column.range)),
        beyond=_beyond(column),
        quantiles=tuple(
            _row(_QUARTILES.get(each.share, f"{100 * each.share:g} %"), each.at)
            for each in column.quantiles
        ),
        values=_values(column),
        more_values=max(len(column.values) - _VALUES, 0),
        notes=tuple(NOTES[note] for note in column.notes),
    )


def _spark(column: ColumnProfile, name: str) -> Markup | None:
    if column.histogram is not None:
        counts = plots.put_together(column.histogram).counts
    else:
        counts = tuple(each.count.value for each in column.values[:_VALUES])
    return plots.spark(counts, f"people by {name}") if counts else None


def _beyond(column: ColumnProfile) -> str:
    bars = column.histogram
    if bars is None:
        return ""
    first, last = (
        number(edge, abs(edge) / 100) if bars.by_size else exact(edge)
        for edge in (bars.edges[0], bars.edges[-1])
    )
    return (
        f"Below {first}: {value_text(bars.below)} people ({interval(bars.below)}); "
        f"above {last}: {value_text(bars.above)} ({interval(bars.above)})."
    )


def _row(
    name: str, answer: ProfiledNumber, drawing: Markup = _NOTHING, remark: str = ""
) -> ProfileRow:
    return ProfileRow(name, drawing, value_text(answer), interval(answer), remark)


def _share(answer: ProfiledNumber) -> ProfileRow:
    share = percent(answer)
    return ProfileRow(
        "missing", _NOTHING, f"{value_text(share)} %", f"{interval(share)} %"
    )


def _values(column: ColumnProfile) -> tuple[ProfileRow, ...]:
    shown = [(each.value, each.whole, each.count) for each in column.values[:_VALUES]]
    counts = [count for _, _, count in shown]
    if column.other is not None:
        counts.append(column.other)
    most = max((count.high or count.value for count in counts), default=1.0)
    rows = [
        _row(
            value,
            count,
            plots.whisker(count, most, f"people with {visible(value)}"),
            "" if whole else "beginning",
        )
        for value, whole, count in shown
    ]
    if column.other is not None:
        drawing = plots.whisker(column.other, most, "people with another value")
        rows.append(_row("any other", column.other, drawing, "not listed"))
    return tuple(rows)


def _overlaps(profile: FederationProfile) -> list[ProfileRow]:
    pairs = sorted(profile.overlaps, key=lambda pair: -(pair.persons.low or 0.0))
    most = max((pair.persons.high or 0.0 for pair in pairs), default=1.0)
    return [
        _row(
            f"{pair.left} and {pair.right}",
            pair.persons,
            plots.whisker(pair.persons, most, "people in common"),
            "lost in the noise" if pair.jaccard is None else percent_text(pair.jaccard),
        )
        for pair in pairs[:_PAIRS]
    ]


def _elsewhere(profile: FederationProfile) -> list[tuple[ProfileRow, ProfileRow]]:
    most = max((each.persons.high or 0.0 for each in profile.elsewhere), default=1.0)

    def row(site: str, answer: ProfiledNumber, title: str) -> ProfileRow:
        return _row(site, answer, plots.whisker(answer, most, title))

    return [
        (
            row(each.site, each.persons, "people at this site"),
            row(each.site, each.elsewhere, "of these at other sites"),
        )
        for each in profile.elsewhere
    ]


def _distances(profile: FederationProfile) -> list[ProfileRow]:
    pairs = [(column, each) for column in profile.columns for each in column.distances]
    pairs.sort(key=lambda pair: -(pair[1].distance.low or 0.0))
    most = max((each.distance.high or 0.0 for _, each in pairs), default=1.0)
    return [
        _row(
            column.name,
            each.distance,
            plots.whisker(each.distance, most, "distance", bar=False),
            f"{each.left} and {each.right}",
        )
        for column, each in pairs[:_PAIRS]
    ]
