# SPDX-License-Identifier: Apache-2.0
"""The same round as a Flower simulation, in an environment of its own.

Flower and Ray are peers, never dependencies: called with a number of sites, this file
makes a virtual environment in the user's cache folder with pinned versions and runs
itself there. There it is a Flower app: every client loads the weights, makes one SGD
step on 64 of its records and returns the weights; `FedAvg` averages them.

    python benchmarks/flower_peer.py 12        prints {"cpu": ..., "elapsed": ...}

CPU time counts every process below the simulation (driver, Ray's daemons, workers),
from one round to the next, so that starting Ray is not counted.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

import numpy as np

PINS = ("flwr[simulation]==1.41.0", "torch==2.13.0", "numpy")
ROWS, SLOTS, BATCH, ROUNDS = 50_000, 100, 64, 4


def run_in_environment(sites: int) -> int:
    """Run the simulation in its environment; installs it on the first call."""
    python = _environment()
    generator = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        inputs = generator.standard_normal((ROWS, SLOTS)).astype("f4")
        np.save(Path(folder) / "inputs.npy", inputs)
        np.save(Path(folder) / "targets.npy", (inputs[:, 0] > 0).astype("f4"))
        command = [str(python), __file__, str(sites), folder]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        return subprocess.run(command, env=environment, check=False).returncode


def _environment() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    folder = cache / "lexfed-benchmarks" / "flwr-1.41.0"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PINS], check=True)
        (folder / "ready").touch()
    return python


def _tree_cpu_seconds(root: int) -> float:
    """Sum the CPU time of a process and of everything it started."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            process = int(entry.name)
            parents[process] = int(fields[1])
            ticks[process] = sum(map(int, fields[11:15]))
    total = 0
    for process in ticks:
        above = process
        while above not in (root, 0, 1):
            above = parents.get(above, 0)
        total += ticks[process] if above == root else 0
    return total / os.sysconf("SC_CLK_TCK")


def _simulate(data: Path, sites: int) -> None:
    import torch
    from flwr.app import ArrayRecord, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp
    from flwr.serverapp.strategy import FedAvg
    from flwr.simulation import run_simulation
    from torch import nn

    seen: list[tuple[float, float]] = []

    def model() -> nn.Module:
        return nn.Sequential(
            nn.Linear(100, 256),
            nn.ReLU(),
            nn.Linear(256, 128),
            nn.ReLU(),
            nn.Linear(128, 64),
            nn.ReLU(),
            nn.Linear(64, 1),
        )

    client = ClientApp()

    @client.train()  # type: ignore[untyped-decorator]  # flwr is not installed here
    def train(message: Any, context: Any) -> Any:
        from flwr.app import Message

        torch.set_num_threads(1)
        # Mapped, not read: a client pays for the records it uses.
        inputs = np.load(data / "inputs.npy", mmap_mode="r")
        targets = np.load(data / "targets.npy", mmap_mode="r")
        own = len(targets) // sites
        rows = np.random.default_rng().integers(own, size=BATCH)
        rows += own * int(context.node_config["partition-id"])
        module = model()
        module.load_state_dict(message.content["arrays"].to_torch_state_dict())
        optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
        logits = module(torch.from_numpy(inputs[rows])).squeeze(1)
        nn.BCEWithLogitsLoss()(logits, torch.from_numpy(targets[rows])).backward()
        optimiser.step()
        answer = RecordDict(
            {
                "arrays": ArrayRecord(module.state_dict()),
                "metrics": MetricRecord({"num-examples": BATCH}),
            }
        )
        return Message(content=answer, reply_to=message)

    class Timed(FedAvg):  # type: ignore[misc]  # flwr is not installed here
        """Notes the CPU time after every round."""

        def aggregate_train(self, server_round: int, replies: Any) -> Any:
            result = super().aggregate_train(server_round, replies)
            seen.append((_tree_cpu_seconds(os.getpid()), time.monotonic()))
            return result

    server = ServerApp()

    @server.main()  # type: ignore[untyped-decorator]  # flwr is not installed here
    def serve(grid: Any, context: Any) -> None:
        del context
        strategy = Timed(
            fraction_train=1.0,
            fraction_evaluate=0.0,
            min_train_nodes=sites,
            min_available_nodes=sites,
        )
        strategy.start(
            grid=grid,
            initial_arrays=ArrayRecord(model().state_dict()),
            num_rounds=ROUNDS,
        )

    run_simulation(
        server_app=server,
        client_app=client,
        num_supernodes=sites,
        backend_config={"client_resources": {"num_cpus": 1, "num_gpus": 0.0}},
    )
    # The first round starts the workers.
    cpu, elapsed = np.diff(np.array(seen), axis=0)[1:].min(axis=0)
    print(json.dumps({"cpu": float(cpu), "elapsed": float(elapsed)}))


if __name__ == "__main__":
    if len(sys.argv) == 2:
        sys.exit(run_in_environment(int(sys.argv[1])))
    _simulate(Path(sys.argv[2]), int(sys.argv[1]))
