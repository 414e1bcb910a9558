# SPDX-License-Identifier: Apache-2.0
"""A first configuration in lines for the screen: every guess, and what is not sure."""

from collections.abc import Iterator

from lexfed.config.drafting.table_draft import TableDraft
from lexfed.config.text.wording import listed
from lexfed.report.markup.escaping import shortened
from lexfed.visible_text import visible

PROFILE_SHARE = 0.25
"""Share of epsilon that `lexfed profile` costs by default; `DEFAULT_PART` there."""
_WIDEST = 28
_MOST_NAMED = 8


def draft_lines(draft: TableDraft) -> Iterator[str]:
    """Yield every guess of a draft, in lines for the screen."""
    columns = draft.configuration.columns
    left_out = draft.configuration.left_out
    review = {each.name for each in draft.proposals if each.review}
    widened = [each.name for each in draft.proposals if each.widened]
    names = [visible(name) for name in (*(c.name for c in columns), *dict(left_out))]
    width = min(_WIDEST, max(map(len, names)))
    for column in columns:
        tier = "" if column.decision is None else column.decision.tier
        mark = "?" if column.name in review else " "
        name = shortened(column.name, width)
        yield f"  {name:<{width}}  {tier:<12}{mark} {column.domain}"
    for name, why in left_out:
        yield f"  {shortened(name, width):<{width}}  left out: {why}"
    if len(draft.person_keys) > 1 and draft.configuration.person is None:
        shown = listed(shortened(name, _WIDEST) for name in draft.person_keys)
        yield (
            f"{shown} may each say whom a row is about: `--person COLUMN` says which; "
            "until then each row counts as a person of its own"
        )
    if review:
        yield (
            f"? marks what a person should look at ({len(review)}): it has the "
            "cautious tier until then (`lexfed tag --explain NAME`)"
        )
    if widened:
        shown = listed(shortened(name, _WIDEST) for name in widened[:_MOST_NAMED])
        more = len(widened) - _MOST_NAMED
        yield (
            f"nobody knows the values of {shown}{f' and {more} more' * (more > 0)}: "
            "state a public range or list under `[data.columns]` if there is one, or "
            'write "?" there and let `lexfed profile` learn it with noise, for '
            f"{draft.configuration.epsilon * PROFILE_SHARE:g} of epsilon "
            f"{draft.configuration.epsilon:g}"
        )
