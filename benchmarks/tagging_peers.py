# SPDX-License-Identifier: Apache-2.0
"""Presidio and DataProfiler on the same values, in an environment of their own.

They are peers, never dependencies: this file makes a virtual environment in the user's
cache folder with pinned versions and runs itself there. It reads a JSON list of lists
of values and prints, for each peer that runs, which columns it flags:

    {"presidio": {"flags": [...], "cpu_s": ..., "resident_mb": ...}, ...}

Presidio runs without a language model, as none comes with it: patterns and checksums
only. Each peer runs in its own process. A column is flagged if half of its values are
an entity that identifies someone; numbers, dates, links and places are none.
"""

import json
import os
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

PINS = {
    "presidio": ("presidio-analyzer==2.2.366",),
    "dataprofiler": ("DataProfiler[ml]==0.14.0",),
}
LEAST_SCORE = 0.4
NOT_IDENTIFYING = frozenset(
    {"DATE_TIME", "URL", "LOCATION", "NRP", "UNKNOWN", "BACKGROUND", "DATE", "TIME",
     "DATETIME", "INTEGER", "INTEGER_BIG", "FLOAT", "QUANTITY", "ORDINAL", "US_STATE",
     "CITY", "COUNTRY", "ZIP"}
)  # fmt: skip
Columns = list[list[str]]


def environment(peer: str) -> Path:
    """Return the peer's interpreter; installs it on the first call."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    folder = cache / "lexfed-benchmarks" / PINS[peer][0].replace("[ml]", "")
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "-q", *PINS[peer]]
        subprocess.run(command, check=True, stdout=sys.stderr)
        (folder / "ready").touch()
    return python


def presidio() -> Callable[[Columns], list[bool]]:
    """Return Presidio's answer, by patterns and checksums."""
    import logging

    import spacy  # type: ignore[import-not-found]
    from presidio_analyzer import AnalyzerEngine  # type: ignore[import-not-found]
    from presidio_analyzer.nlp_engine import (  # type: ignore[import-not-found]
        SpacyNlpEngine,
    )

    class Blank(SpacyNlpEngine):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(models=[{"lang_code": "en", "model_name": "blank"}])
            self.nlp = {"en": spacy.blank("en")}

        def load(self) -> None:
            """Load nothing: the tokeniser is there."""

    logging.disable(logging.CRITICAL)
    engine = AnalyzerEngine(nlp_engine=Blank(), supported_languages=["en"])

    def identifying(value: str) -> bool:
        found = engine.analyze(value, "en", score_threshold=LEAST_SCORE)
        return any(one.entity_type not in NOT_IDENTIFYING for one in found)

    return lambda columns: [
        half([identifying(v) for v in values]) for values in columns
    ]


def dataprofiler() -> Callable[[Columns], list[bool]]:
    """Return DataProfiler's answer, by its network for single cells."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import pandas as pd
    from dataprofiler import DataLabeler  # type: ignore[import-not-found]

    labeler = DataLabeler(labeler_type="structured")

    def flags(columns: Columns) -> list[bool]:
        cells = pd.Series([value for values in columns for value in values])
        labels = iter(labeler.predict(cells)["pred"].tolist())
        return [
            half([str(next(labels)) not in NOT_IDENTIFYING for _ in values])
            for values in columns
        ]

    return flags


def half(hits: list[bool]) -> bool:
    """Return whether half of the values were recognised."""
    return bool(hits) and sum(hits) >= 0.5 * len(hits)


def resident_mb() -> float:
    """Return the most memory that this process held, in megabytes."""
    # Not ru_maxrss, which a new process takes over from the one that started it.
    lines = Path("/proc/self/status").read_text().splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM"))
    return int(peak.split()[1]) / 1024


def answer(peer: str, columns: Columns) -> None:
    """Print the answer of one peer; runs in its environment."""
    flags = {"presidio": presidio, "dataprofiler": dataprofiler}[peer]()
    there = [[v for v in values if v] for values in columns]
    start = time.process_time()
    found = flags(there)
    seconds = time.process_time() - start
    resident = resident_mb()
    result = {"flags": found, "cpu_s": round(seconds, 2)}
    print(json.dumps(result | {"resident_mb": round(resident, 1)}))


def main() -> None:
    """Ask every peer in its environment, or be one."""
    columns: Columns = json.load(sys.stdin)
    if len(sys.argv) > 1:
        answer(sys.argv[1], columns)
        return
    answers: dict[str, Any] = {}
    for peer in PINS:
        try:
            command = [str(environment(peer)), __file__, peer]
            ran = subprocess.run(
                command,
                input=json.dumps(columns),
                capture_output=True,
                text=True,
                check=True,
            )
            answers[peer] = json.loads(ran.stdout.splitlines()[-1])
        except (subprocess.CalledProcessError, OSError, ValueError) as error:
            print(f"{peer}: {error}", file=sys.stderr)
            print(getattr(error, "stderr", "")[-1500:], file=sys.stderr)
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
