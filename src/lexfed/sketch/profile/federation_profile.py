# SPDX-License-Identifier: Apache-2.0
"""The profile of a federation, how it is made from released tables, and its bytes.

A profile is a file that others read, so bytes are read strictly: what is read and
written again must be the same bytes, which leaves no room for keys that nobody knows,
keys given twice or numbers written otherwise.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Final, Literal, NoReturn

from pydantic import TypeAdapter, ValidationError

from lexfed import checks
from lexfed.canonical import canonical_bytes
from lexfed.errors import DataError, Problem
from lexfed.sketch.profile.answers import SiteDuplicates, SiteOverlap
from lexfed.sketch.profile.cell_spread import PersonTotal
from lexfed.sketch.profile.column_profile import ColumnProfile, profile_of
from lexfed.sketch.profile.profiled_columns import ProfiledColumn
from lexfed.sketch.profile.site_comparisons import elsewhere, overlaps
from lexfed.sketch.queries.requested_tables import ReleasedTable

VERSION: Final = 1
"""Of the file; whatever an older reader would misunderstand raises it."""

MOST_BYTES = 64 * 2**20
"""No profile is larger."""


@dataclass(frozen=True)
class FederationProfile:
    """The profile of a federation.

    Attributes:
        people: how many persons there are, which is public.
        sites: their names.
        columns: what is known about each.
        overlaps: of every two sites, where persons have keys.
        elsewhere: of every site with all others, likewise.
        lexfed_profile: the version.
    """

    people: float
    sites: tuple[str, ...]
    columns: tuple[ColumnProfile, ...]
    overlaps: tuple[SiteOverlap, ...] = ()
    elsewhere: tuple[SiteDuplicates, ...] = ()
    lexfed_profile: Literal[1] = VERSION

    def __post_init__(self) -> None:
        checks.finite_positive(people=self.people)
        names = [column.name for column in self.columns]
        if len(set(names)) != len(names):
            raise ValueError("expected every column once")

    def column(self, name: str) -> ColumnProfile | None:
        """Return the profile of a column, if it was asked about."""
        return next((each for each in self.columns if each.name == name), None)

    def to_bytes(self) -> bytes:
        """Return the canonical bytes (RFC 8785)."""
        return canonical_bytes(asdict(self))

    @classmethod
    def from_bytes(
        cls, data: bytes, where: str = "profile.json"
    ) -> "FederationProfile":
        """Read a profile; `where` names the file in messages.

        Guarantees:
            Bytes that are read are, written again, the same bytes.
            No bytes raise anything but `DataError`.

        Raises:
            DataError: if they are no profile of this version.
        """
        if len(data) > MOST_BYTES:
            _refuse(where, f"{len(data)} bytes are more than any profile has")
        try:
            profile = _ADAPTER.validate_json(data, strict=True)
        except ValidationError as error:
            first = error.errors(include_input=False)[0]
            place = ".".join(map(str, first["loc"])) or "the whole"
            _refuse(where, f"no profile of version {VERSION}: {place}: {first['msg']}")
        if profile.to_bytes() != data:
            _refuse(where, "not the canonical bytes of the profile that they hold")
        return profile


_ADAPTER = TypeAdapter(FederationProfile)


def _refuse(where: str, what: str) -> NoReturn:
    hint = "take the file as `lexfed profile` wrote it"
    raise DataError([Problem(where, what, hint)])


def build_profile(
    told: Sequence[ReleasedTable],
    columns: Sequence[ProfiledColumn],
    sites: tuple[str, ...],
    people: float,
) -> FederationProfile:
    """Return the profile of a federation from released tables.

    Args:
        told: all tables, in any order.
        columns: those that were asked about, as declared.
        sites: names of the sites, in the order of the tables that each of them has.
        people: how many persons there are, which is public; it may be rough, and
            nothing is computed from it.

    Raises:
        ValueError: if tables do not fit the columns or sites.
    """
    keys = [table for table in told if table.table.domain == "keys"]
    counts = tuple(table for table in told if table.table.domain != "keys")
    everybody = PersonTotal(counts)
    # A sketch of one site alone has nobody to be compared with.
    shared = [table for table in keys if table.table.sites > 1]
    return FederationProfile(
        people=float(people),
        sites=sites,
        columns=tuple(
            profile_of(
                column,
                [table for table in counts if table.table.column == column.name],
                everybody,
                sites,
            )
            for column in columns
        ),
        overlaps=tuple(pair for table in shared for pair in overlaps(table, sites)),
        elsewhere=tuple(each for table in shared for each in elsewhere(table, sites)),
    )
