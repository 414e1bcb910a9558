# SPDX-License-Identifier: Apache-2.0
"""How long a stage takes in a real deployment on this machine; one line of JSON.

    PYTHONPATH=tests python -m benchmarks.deployment [--sites 3 8] [--rounds 10]

Every party runs in processes of its own, with FLARE, mutual TLS 1.3 and the kits that
`lexfed deploy init` makes. A stage is one message to every site and all answers: the
computing of the sites is in it. `stage_s` are median, 90 % quantile and longest, as the
coordinator's log has them, by trust and number of sites; `first_s` is from starting
`lexfed deploy run` to the first released round, `epoch_s` what a further set-up epoch
costs beside its rounds. All parties share this machine's cores, so more sites are
slower here than on machines of their own; `cores` and `load` say what there was.
"""

import argparse
import json
import os
import re
import statistics
import tempfile
import time
import zipfile
from pathlib import Path
from typing import Any

from support.deployed.federations import Federation, federation
from support.deployed.worlds import SITES, config_text

TRUSTS = {
    "local": {"trust": "local"},
    "distributed": {
        "trust": "distributed",
        "privacy": 'accountant = "rdp"',
        "federation": "dropouts = 1\nsetup_rounds = 12",
    },
}
TARGET_S = 1.0
_STAGE = re.compile(r"stage: \d+ of \d+ sites answered in ([0-9.]+) s")


def stages(made: Federation) -> list[float]:
    """Return the seconds of all stages, from the logs of the coordinator's jobs."""
    found: list[float] = []
    for path in made.coordinator.flare_folder.glob("storage/jobs/*/workspace"):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith("log.txt") and "error" not in name:
                    text = archive.read(name).decode(errors="replace")
                    found += [float(each) for each in _STAGE.findall(text)]
    return found


def measure(trust: str, count: int, rounds: int) -> dict[str, Any]:
    """Run one deployment to its end."""
    names = tuple(f"site{number}" for number in range(1, count + 1))
    usual = ", ".join(f'"{name}.csv"' for name in SITES)
    files = ", ".join(f'"{name}.csv"' for name in names)
    text = config_text(**TRUSTS[trust]).replace(usual, files)
    text = text.replace("rounds = 2", f"rounds = {rounds}")
    with (
        tempfile.TemporaryDirectory() as folder,
        federation(Path(folder), names) as made,
    ):
        path = made.agree(text)
        begin = time.monotonic()
        with made.running(path) as run:
            run.until(lambda: made.released() > 0)
            first = time.monotonic() - begin
            run.finish()
        whole, taken = time.monotonic() - begin, sorted(stages(made))
        epochs = len(list(made.coordinator.flare_folder.glob("storage/jobs/*")))
        return {
            "rounds": made.released(),
            "stages": len(taken),
            "stage_s": {
                "median": statistics.median(taken),
                "p90": taken[int(0.9 * (len(taken) - 1))],
                "longest": taken[-1],
            },
            "first_s": round(first, 1),
            "whole_s": round(whole, 1),
            "epochs": epochs,
            "epoch_s": round((whole - sum(taken)) / epochs, 1),
        }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, nargs="+", default=[3, 8])
    parser.add_argument("--rounds", type=int, default=10)
    chosen = parser.parse_args()
    found: dict[str, Any] = {}
    for count in chosen.sites:
        for trust in TRUSTS:
            found[f"{trust}-{count}"] = measure(trust, count, chosen.rounds)
    worst = max(each["stage_s"]["p90"] for each in found.values())
    print(
        json.dumps(
            {
                **found,
                "shown": {"p90_s": worst, "target_s": TARGET_S},
                "cores": os.cpu_count(),
                "load": os.getloadavg()[0],
            }
        )
    )


if __name__ == "__main__":
    main()
