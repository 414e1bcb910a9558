# SPDX-License-Identifier: Apache-2.0
"""A real deployment on this machine: every party in processes of its own.

Kits, certificates, TLS 1.3 and FLARE are the real ones. All processes are started here
and end with the block, whatever happens in it.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import psutil

from lexfed.federation.flare.kit.folder import COORDINATOR, Kit
from lexfed.federation.flare.process import command_of, environment_of
from lexfed.privacy.releases import Release
from lexfed.run.deployed.site.consent import give_consent
from support.deployed.deployments import LEXFED, deployment
from support.deployed.worlds import write_data

PATIENCE_S = 180.0


@dataclass
class Federation:
    """Kits with their processes."""

    folder: Path
    kits: dict[str, Kit]
    processes: dict[str, psutil.Popen] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def coordinator(self) -> Kit:
        """The kit of the coordinator."""
        return self.kits[COORDINATOR]

    @property
    def sites(self) -> tuple[str, ...]:
        """The names of the sites."""
        return tuple(name for name in self.kits if name != COORDINATOR)

    def data(self, name: str) -> Path:
        """Return the table of a site."""
        return self.folder / f"{name}.csv"

    def agree(self, text: str) -> Path:
        """Write a configuration, and have the people of all sites consent to it."""
        path = self.folder / "lexfed.toml"
        path.write_text(text)
        for name in self.sites:
            give_consent(self.kits[name], path)
        return path

    def start(self, *names: str) -> None:
        """Start the processes of some parties."""
        for name in names:
            kit = self.kits[name]
            with open(kit.flare_folder / "console.txt", "ab") as console:
                self.processes[name] = psutil.Popen(
                    command_of(kit),
                    stdin=subprocess.DEVNULL,
                    stdout=console,
                    stderr=console,
                    start_new_session=True,
                    env=environment_of(kit, {**os.environ, **self.environment}),
                )

    def workers(self, name: str) -> list[psutil.Process]:
        """Return the processes of jobs of a party."""
        try:
            return list(self.processes[name].children(recursive=True))
        except psutil.NoSuchProcess:
            return []

    def kill(self, name: str) -> None:
        """Kill all processes of a party, as a power cut does."""
        for process in [*self.workers(name), self.processes[name]]:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.processes[name].wait(timeout=30)

    def kill_worker(self, name: str) -> None:
        """Kill only the process of the job."""
        found = self.workers(name)
        assert found
        for process in found:
            process.kill()

    def stop(self) -> None:
        """Kill everything."""
        for name in self.processes:
            self.kill(name)

    @contextmanager
    def running(self, path: Path, *words: str) -> Iterator["Submitted"]:
        """Start `lexfed deploy run` in a process of its own."""
        kit = str(self.coordinator.folder)
        process = subprocess.Popen(
            [*LEXFED, "deploy", "run", str(path), "--kit", kit, *words],
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, **self.environment},
        )
        try:
            yield Submitted(process)
        finally:
            process.kill()
            process.communicate(timeout=30)

    def run(self, path: Path, *words: str) -> str:
        """Run to the end; return what was said."""
        with self.running(path, *words) as submitted:
            return submitted.finish()

    # What is on disk

    @property
    def out(self) -> Path:
        """The run folder."""
        return self.coordinator.runs / "small" / "run"

    def events(self) -> list[dict[str, Any]]:
        """Return the events of the run."""
        try:
            text = (self.out / "events.jsonl").read_text()
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]

    def charges(self) -> list[Release]:
        """Return what the coordinator has charged, round by round."""
        rows = [event for event in self.events() if event["type"] == "charge"]
        return [Release.from_json(row["release"]) for row in rows]

    def released(self) -> int:
        """Return how many rounds have been measured."""
        path = self.out / "metrics.csv"
        return len(path.read_text().splitlines()) - 1 if path.exists() else 0

    def ledger(self, name: str) -> list[Release]:
        """Return what a site was charged for."""
        [path] = self.kits[name].state.glob("runs/*/ledger.jsonl")
        text = path.read_text()
        whole = text[: text.rfind("\n") + 1]  # the rest was never acknowledged
        return [Release.from_json(json.loads(line)) for line in whole.splitlines()]


@dataclass(frozen=True)
class Submitted:
    """A `lexfed deploy run` at work."""

    process: "subprocess.Popen[str]"

    def until(self, happened: Callable[[], bool]) -> None:
        """Wait for something while the run is at work."""
        end = time.monotonic() + PATIENCE_S
        while not happened():
            if self.process.poll() is not None:
                raise AssertionError(self.process.communicate()[0])
            assert time.monotonic() < end, "it did not happen"
            time.sleep(0.02)

    def finish(self, code: int = 0) -> str:
        """Wait for the end, which must be of this kind; return what was said."""
        said, _ = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == code, said
        return said


@contextmanager
def federation(folder: Path, sites: Sequence[str]) -> Iterator[Federation]:
    """Make a deployment with data and start all of its processes."""
    kits = deployment(folder / "trial", sites)
    for place, name in enumerate(sites):
        path = folder / f"{name}.csv"
        write_data(path, seed=5 + place)
        kits[name] = replace(kits[name], data=path)
    environment = {
        "XDG_STATE_HOME": str(folder / "state"),
        "OMP_NUM_THREADS": "1",
    }
    made = Federation(folder, kits, environment=environment)
    try:
        made.start(*kits)
        yield made
    finally:
        made.stop()
