# SPDX-License-Identifier: Apache-2.0
"""How fast a private round is: ratios of CPU time, one JSON line.

50,000 synthetic rows of 100 slots, an MLP 256-128-64, about 64 records per site and
round, 12 and 120 sites. lexfed's side is the whole round of the simulation engine:
coins, clipped sums, integer grid, noise from the operating system's generator, update.
Against it:

    plain      a non-private PyTorch loop: load weights, one SGD step per site, average
    opacus     the same loop with Opacus' per-record gradients, clipped and summed
    none       the same engine without privacy (`none_*` is private over not private)
    groups     one clip per column instead of one (`groups_*` is 100 groups over one)
    logistic   plain over lexfed, for logistic regression
    flower     a Flower simulation with Ray, in an environment of its own (--flower);
               its clients make plain steps, so it is Flower without privacy

CPU time of the process, one thread, repetitions interleaved, the least of each: what
disturbs a measurement only ever adds to it.

Two things bound the ratios. The matrix products of a round, forth, back and summed, are
the same for everybody: 0.35 million operations per record, about 2.8 ms for 12 sites
and 28 ms for 120 at 95 GFLOP/s, half of our round or more. And a release of 67,000
numbers costs 67,000 normal draws, AES and grid included about 0.6 ms, and a few passes
over the vector, however few records there are: that is why ratios are lower for 12
sites than for 120. A round of logistic regression for 12 sites is little more than a
millisecond, most of it the fixed cost of many small steps.

    python benchmarks/training.py [--repeat 15] [--flower]
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from lexfed.data.encoding import Encoding, build_encoding
from lexfed.data.people.unit_blocks import SiteData, UnitBlock
from lexfed.data.schema import Column, Schema
from lexfed.federation.coordinator.learner import Learner
from lexfed.federation.coordinator.rounds import Coordinator
from lexfed.federation.engines.clear_sums import Simulation
from lexfed.federation.planning.programme_draft import tower_shapes
from lexfed.federation.programme.sequence import Block, Programme, Stage
from lexfed.models.gradients.rounding_error import summation_error
from lexfed.models.networks.architectures import build
from lexfed.models.networks.flat_parameters import count, group_index
from lexfed.privacy.noise.grids import Grid
from lexfed.privacy.releases import Release, ReleaseGroup
from lexfed.randomness import RandomSource, SecureSource
from lexfed.tiers import Tier

ROWS, SLOTS, BATCH = 50_000, 100, 64
MLP = "mlp:256,128,64"
ROUNDS = 1000
Floats = NDArray[np.float64]
Round = Callable[[], object]


def table() -> tuple[Floats, Floats]:
    """Make rows whose label depends on a few of the slots."""
    generator = np.random.default_rng(7)
    inputs = generator.standard_normal((ROWS, SLOTS)).clip(-5, 5) / 5
    rate = 1 / (1 + np.exp(-5 * inputs[:, :5].sum(1)))
    return inputs, (generator.random(ROWS) < rate).astype(np.float64)


def _encoding() -> Encoding:
    names = [f"x{place}" for place in range(SLOTS)]
    numbers = [Column(name, "number", range=(-5, 5), missing=False) for name in names]
    schema = Schema((*numbers, Column("y", "flag", missing=False)), target="y")
    return build_encoding(schema, dict.fromkeys([*names, "y"], Tier.SPECIAL))


def programme(sites: int, model: str, mechanism: str) -> Programme:
    """Write down the round that is timed, as planning would."""
    module = build(model, SLOTS, 1, seed=1)
    groups = tuple(range(SLOTS)) if mechanism == "grouped" else ()
    index = group_index(module, groups) if groups else np.zeros(count(module), int)
    sizes = np.bincount(index).tolist()
    rate = BATCH * sites / ROWS
    private = mechanism != "none"
    error = summation_error(ROWS, torch.float32, sites=sites)
    clip, sigma = (1.0, 4.0) if private else (2.0**20, 2.0**20)
    blocks, start = [], 0
    for size in sizes:
        grid = Grid(clip, sigma, size, ROWS, error * clip)
        blocks.append(Block(start, start + size, grid))
        start += size
    names = tuple(ReleaseGroup(str(place), clip, sigma) for place in range(len(sizes)))
    release = Release("tower", names, rate, Tier.SPECIAL, start) if private else None
    stage = Stage(
        name="tower",
        kind="gradient",
        tower=0,
        sampling_rate=rate,
        weights=(1.0,) * sites,
        rates=(1.0,) * sites,
        divisor=float(ROWS),
        releases=(release,) * ROUNDS,
        blocks=tuple(blocks),
    )
    return Programme(
        mechanism=mechanism,  # type: ignore[arg-type]  # three of the four names
        trust="central",
        unit="record",
        loss="logistic",
        sites=tuple(f"site {place}" for place in range(sites)),
        shapes=tower_shapes(_encoding(), "uniform", model, outputs=1, seed=1),
        stages=(stage,),
        groups=groups,
        float32=True,
        follows_rule=False,
        learning_rate=0.1,
        learning_rate_schedule="constant",
        momentum=0.0,
        local_steps=1,
        batch_size=None,
        seed=1,
    )


def engine_round(sites: int, model: str, mechanism: str) -> Round:
    """Give one round of lexfed's simulation engine."""
    inputs, targets = table()
    data = []
    for place, rows in enumerate(np.array_split(np.arange(ROWS), sites)):
        block = UnitBlock(
            inputs[rows, None, :],
            targets[rows, None],
            np.ones((len(rows), 1)),
            rows,
        )
        empty = UnitBlock(
            block.inputs[:0], block.targets[:0], block.weights[:0], rows[:0]
        )
        data.append(SiteData(f"site {place}", block, empty))

    source = SecureSource()

    def sources(name: str) -> RandomSource:
        # As in a run that is not a test: one source, a fresh key for every request.
        del name
        return source

    planned = programme(sites, model, mechanism)
    learner = Learner(planned)
    engine = Simulation(planned, data, sources)
    coordinator = Coordinator(planned, learner, None, sources, learner.start())

    def once() -> object:
        asked = coordinator.next()
        assert asked is not None, "more repetitions than rounds"
        answers = engine.ask(asked.query, asked.participants)
        return coordinator.receive(asked.query, answers)

    return once


def plain_round(sites: int, model: str) -> Round:
    """Give one round of a loop over sites without privacy."""
    inputs, targets = (torch.from_numpy(part).float() for part in table())
    module = build(model, SLOTS, 1, seed=1)
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    loss = nn.BCEWithLogitsLoss()
    generator = torch.Generator().manual_seed(1)

    def once() -> object:
        start = {name: value.clone() for name, value in module.state_dict().items()}
        mean = {name: torch.zeros_like(value) for name, value in start.items()}
        for _ in range(sites):
            rows = torch.randint(ROWS, (BATCH,), generator=generator)
            module.load_state_dict(start)
            optimiser.zero_grad()
            loss(module(inputs[rows]).squeeze(1), targets[rows]).backward()
            optimiser.step()
            for name, value in module.state_dict().items():
                mean[name] += value / sites
        return module.load_state_dict(mean)

    return once


def opacus_round(sites: int, model: str) -> Round:
    """Give one round with Opacus' hooks: per-record gradients, clipped and summed."""
    from opacus import GradSampleModule

    inputs, targets = (torch.from_numpy(part).float() for part in table())
    hooked = GradSampleModule(build(model, SLOTS, 1, seed=1), loss_reduction="sum")
    loss = nn.BCEWithLogitsLoss(reduction="sum")
    generator = torch.Generator().manual_seed(1)
    parameters = list(hooked.parameters())

    def once() -> object:
        sums = [torch.zeros_like(parameter) for parameter in parameters]
        for _ in range(sites):
            rows = torch.randint(ROWS, (BATCH,), generator=generator)
            hooked.zero_grad()
            loss(hooked(inputs[rows]).squeeze(1), targets[rows]).backward()
            samples = [parameter.grad_sample for parameter in parameters]
            norms = torch.stack([x.flatten(1).norm(dim=1) for x in samples]).norm(dim=0)
            factors = (1.0 / (norms + 1e-6)).clamp(max=1.0)
            for total, sample in zip(sums, samples, strict=True):
                total += torch.einsum("i,i...", factors, sample)
        with torch.no_grad():
            for parameter, total in zip(parameters, sums, strict=True):
                noise = torch.randn(total.shape, generator=generator)
                parameter -= 0.1 * (total + noise) / (BATCH * sites)
        return None

    return once


def flower_seconds(sites: int) -> dict[str, float]:
    """Ask the Flower peer for the CPU and elapsed seconds of its fastest round."""
    command = [sys.executable, str(Path(__file__).with_name("flower_peer.py"))]
    done = subprocess.run(
        [*command, str(sites)], stdout=subprocess.PIPE, text=True, check=True
    )
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def least(rounds: dict[str, Round], repeat: int) -> dict[str, float]:
    """Time every round in turn, again and again; keep the least CPU time of each."""
    best = dict.fromkeys(rounds, float("inf"))
    for _ in range(repeat):
        for name, once in rounds.items():
            start = time.process_time()
            once()
            best[name] = min(best[name], time.process_time() - start)
    return best


def main() -> None:
    """Measure and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--flower", action="store_true", help="installs flwr and Ray")
    arguments = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        # Read when the libraries are loaded; idle threads that wait for work would
        # count as CPU time of whoever is measured next.
        one = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        command = [sys.executable, *sys.argv]
        sys.exit(subprocess.run(command, env=os.environ | one, check=False).returncode)
    # Opacus' hooks warn that inputs need no gradient, which is as it should be.
    warnings.filterwarnings("ignore", message="Full backward hook")
    least({"uniform": engine_round(120, MLP, "uniform")}, repeat=2)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    ratios: dict[str, float] = {}
    for sites in (12, 120):
        engine = least(
            {
                "uniform": engine_round(sites, MLP, "uniform"),
                "plain": plain_round(sites, MLP),
                "none": engine_round(sites, MLP, "none"),
                "grouped": engine_round(sites, MLP, "grouped"),
                "logistic": engine_round(sites, "logistic", "uniform"),
                "plain_logistic": plain_round(sites, "logistic"),
            },
            arguments.repeat,
        )
        ours = engine["uniform"]
        ratios[f"plain_{sites}"] = engine["plain"] / ours
        ratios[f"none_{sites}"] = ours / engine["none"]
        ratios[f"groups_{sites}"] = engine["grouped"] / ours
        ratios[f"logistic_{sites}"] = engine["plain_logistic"] / engine["logistic"]
        ratios[f"round_ms_{sites}"] = 1e3 * ours
    for sites in (12, 120):
        again = least(
            {
                "uniform": engine_round(sites, MLP, "uniform"),
                "opacus": opacus_round(sites, MLP),
            },
            max(3, arguments.repeat // 4),
        )
        ratios[f"opacus_{sites}"] = again["opacus"] / again["uniform"]
    if arguments.flower:
        for sites in (12, 120):
            peer = flower_seconds(sites)
            ours = ratios[f"round_ms_{sites}"] / 1e3
            ratios[f"flower_{sites}"] = peer["cpu"] / ours
            # One thread: our elapsed time is our CPU time.
            ratios[f"flower_elapsed_{sites}"] = peer["elapsed"] / ours
    rounded = {name: round(value, 3) for name, value in ratios.items()}
    print(json.dumps({**rounded, "peak_mb": round(peak), "threads": 1}))


if __name__ == "__main__":
    main()
