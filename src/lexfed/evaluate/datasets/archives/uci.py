# SPDX-License-Identifier: Apache-2.0
"""Tables of the UCI machine learning repository."""

from collections.abc import Mapping

from lexfed.evaluate.datasets.archives.download import download

ADDRESS = "https://archive.ics.uci.edu"
_PATHS: Mapping[str, tuple[str, ...]] = {
    "adult": ("static/public/2/data.csv",),
    "diabetes130": ("static/public/296/data.csv",),
    "german_credit": ("static/public/144/data.csv",),
    "heart_uci4": tuple(
        f"ml/machine-learning-databases/heart-disease/processed.{site}.data"
        for site in ("cleveland", "hungarian", "switzerland", "va")
    ),
    "support2": ("static/public/880/data.csv",),
    "taiwan_default": ("static/public/350/data.csv",),
}
NAMES = tuple(_PATHS)


def files_of(name: str, address: str) -> dict[str, bytes]:
    """Return the files of a table, each under where it came from.

    Args:
        name: one of `NAMES`.
        address: of the repository or of a mirror.

    Raises:
        DataError: if one cannot be reached.
    """
    places = [f"{address}/{path}" for path in _PATHS[name]]
    return {place: download(place, address) for place in places}
