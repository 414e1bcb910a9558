# SPDX-License-Identifier: Apache-2.0
"""`lexfed evaluate fetch`: download a public data set, and say where it is."""

from pathlib import Path

from lexfed.cli import talk
from lexfed.evaluate.datasets.archives.retrieval import fetch as download
from lexfed.evaluate.datasets.public.source_folder import VARIABLE, data_folder


def fetch(
    name: str, into: Path | None, archive: str | None, source: str = "uci"
) -> None:
    """Download a data set into a folder of data sets."""
    home = data_folder() if into is None else into
    found = download(name, home, source, archive)
    print(found.folder)
    talk.say(found.words)
    talk.say(f"Set {VARIABLE}={home} to evaluate on it.")
