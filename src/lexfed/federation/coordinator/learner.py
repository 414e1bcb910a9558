# SPDX-License-Identifier: Apache-2.0
"""The coordinator's question in a stage, and its learning from the release.

Both are functions of the `Progress` and of the programme's public constants; they never
see data, so whatever they do is post-processing and costs nothing.
"""

import math
from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from lexfed.arrays import Floats
from lexfed.federation.coordinator.noisy_descent import (
    DescentRelease,
    NoisyDescent,
    TowerSteering,
)
from lexfed.federation.coordinator.progress import Progress
from lexfed.federation.coordinator.sketch_learner import SketchLearner
from lexfed.federation.programme.sequence import Programme, Stage
from lexfed.models.rule import amplitudes, estimates, network_part
from lexfed.models.rule.amplitudes import (
    LEAST_SIZE,
    AmplitudeBounds,
    AmplitudeEstimate,
)
from lexfed.models.rule.calibration import calibrated_logits
from lexfed.models.rule.column_effects import ColumnEffect, Ends, column_effects
from lexfed.models.rule.contributions import importance_radius
from lexfed.models.rule.estimates import (
    Geometry,
    TargetEstimate,
    TowerState,
    geometry,
    unknown_target,
)
from lexfed.models.rule.evidence import (
    ReleasedEvidence,
    released_evidence,
    unbought_target,
)
from lexfed.models.rule.purchases import listens
from lexfed.models.tower_shapes import RuleFacts
from lexfed.models.towers import Model, Tower, untrained_model
from lexfed.privacy.releases import Release

__all__ = ["Learner", "Progress"]


class Learner:
    """Asks and learns stage by stage; holds public constants only."""

    def __init__(self, programme: Programme) -> None:
        self._programme = programme
        self._steering = TowerSteering(programme)
        self._descent = NoisyDescent(programme, self._steering)
        self._sketches = SketchLearner(programme)

    def start(self) -> Progress:
        """Return the state at which every run of the programme begins."""
        model = untrained_model(self._programme.shapes)
        if self._programme.networks:
            towers = tuple(map(network_part.begin_network, model.towers))
            model = replace(model, towers=towers)
        return Progress(0, model, {})

    def release(self, progress: Progress, most_noise: bool = False) -> Release | None:
        """Return the next round's event, with the noise of steering or the most."""
        stage = self._programme.stages[progress.stage]
        planned = stage.planned(progress.step)
        if not self._programme.steers(stage):
            return planned
        factor = self._steering.state(stage, progress.memory).noise
        if most_noise or self._sketches.is_cautious(progress.memory):
            factor = stage.noise_range[1]
        return stage.with_noise(planned, factor)

    def is_over(self, progress: Progress) -> bool:
        """Return True if a stage has no further round, whatever its budget has left."""
        stage = self._programme.stages[progress.stage]
        if progress.step >= stage.most_rounds:
            return True
        if stage.kind == "sketch":
            return self._sketches.question(progress) is None
        steered = progress.step > 0 and self._programme.steers(stage)
        return steered and self._steering.is_over(stage, progress.memory)

    def question(self, progress: Progress) -> tuple[Model, dict[str, Floats]]:
        """Return the model and the numbers that sites need to answer a round."""
        stage = self._programme.stages[progress.stage]
        model, arrays = progress.model, dict[str, Floats]()
        if stage.kind == "gradient" and self._programme.networks:
            model, arrays = self._network_question(stage, progress)
        elif stage.kind in ("gradient", "update"):
            arrays = self._descent.question(stage, progress.memory, progress.step)
        elif stage.kind == "residuals":
            arrays = self._residuals_question(stage, progress)
        elif stage.kind == "amplitudes":
            size, spread = self._sizes(progress), self._base(progress).spread
            arrays = {"size": size, "spread": np.array([spread])}
        elif stage.kind == "sketch":
            arrays = self._sketches.question(progress) or {}
        return model, {**arrays, **self._sketches.weights(progress)}

    def learn(
        self,
        progress: Progress,
        release: Release | None,
        released: Floats,
        missing: Collection[str] = (),
    ) -> Progress:
        """Return the state after a release, whose sum lacks the `missing` sites."""
        stage = self._programme.stages[progress.stage]
        now = self._sketches.counted(stage.at(progress.step), progress)
        now = self._programme.without(now, missing)
        divisor = now.divisor_of(release)
        mean = released / divisor
        deviation = self._noise(release, len(missing)) / divisor
        if stage.kind == "labels":
            after = self._learn_labels(stage, progress, mean, deviation)
        elif stage.kind == "importance":
            after = self._learn_importance(stage, progress, mean, deviation)
        elif stage.kind == "metrics":
            after = progress.remember({"histogram": released})
        elif stage.kind == "sketch":
            memory = self._sketches.learned(progress, release, released, len(missing))
            after = replace(progress, memory=memory)
        elif stage.kind == "moments":
            after = self._learn_moments(stage, progress, mean, deviation)
        elif stage.kind == "residuals":
            after = self._learn_residuals(stage, progress, mean, deviation)
        elif stage.kind == "amplitudes":
            after = self._learn_amplitudes(progress, mean, deviation, divisor)
        elif self._programme.networks:
            after = self._learn_network(stage, progress, mean)
        else:
            tower = progress.model.towers[stage.tower]
            descent = DescentRelease(now, progress.step, release, mean)
            tower, memory = self._descent.learn(descent, tower, progress.memory)
            after = replace(progress, memory=memory).with_tower(stage.tower, tower)
        return after.after_round(progress.stage, progress.step)

    def evidence(self, progress: Progress) -> dict[int, ReleasedEvidence]:
        """Return the evidence of each tower that was trained by the rule, by place."""
        base = self._base(progress)
        if "base.rate" not in progress.memory and self._programme.loss != "squared":
            base = unbought_target(base)
        found = {}
        for stage in self._programme.stages:
            state = self._state(stage, progress)
            if stage.kind == "residuals" and state.precision.any():
                scales = self._scales(stage, progress, base)
                found[stage.tower] = released_evidence(scales, state)
        return found

    def effects(
        self, progress: Progress, ends: Mapping[int, Ends]
    ) -> dict[int, tuple[ColumnEffect, ...]]:
        """Return the effects of columns in each tower that the rule trained, by place.

        `ends` has the range of each slot that is a number.
        """
        found = {}
        for stage in self._programme.stages:
            state = self._state(stage, progress)
            if stage.kind == "residuals" and state.precision.any():
                scales = self._scales(stage, progress)
                found[stage.tower] = column_effects(
                    self._facts(stage), scales, state, ends
                )
        return found

    def factor_deviations(self, progress: Progress) -> Floats:
        """Return the posterior deviation of each tower's factor; 0 if it is fixed."""
        if not progress.model.factors.size:
            return np.zeros(len(progress.model.towers))
        size = self._sizes(progress)
        stage = next(s for s in self._programme.stages if s.kind == "amplitudes")
        release = stage.releases[0]
        units = self._sketches.counted(stage.at(0), progress).divisor_of(release)
        estimate = AmplitudeEstimate.from_memory(progress.model, progress.memory)
        noise = self._noise(release) / units
        most = self._amplitude_bounds(len(size), progress)
        return amplitudes.factor_deviations(estimate, most, size, noise, units)

    def _learn_importance(
        self, stage: Stage, progress: Progress, mean: Floats, deviation: float
    ) -> Progress:
        """Keep a tier's gradient and its noise, in the scale of single slots."""
        facts = self._facts(stage)
        radius = importance_radius(facts)
        name, noise = f"{stage.tower}.importance", np.array([radius * deviation])
        gradient = radius * mean.reshape(facts.size, -1)
        return progress.remember({name: gradient, f"{name}.noise": noise})

    def _learn_labels(
        self, stage: Stage, progress: Progress, mean: Floats, deviation: float
    ) -> Progress:
        facts = self._facts(stage)
        base = estimates.learn_labels(facts, self._base(progress), mean, deviation)
        spread = np.array([base.spread, base.doubt])
        model = replace(progress.model, intercept=base.logits(facts.loss))
        return replace(progress, model=model).remember(
            {"base.rate": base.rate, "base.spread": spread}
        )

    def _learn_moments(
        self, stage: Stage, progress: Progress, mean: Floats, deviation: float
    ) -> Progress:
        facts, state = self._facts(stage), self._state(stage, progress)
        training = next(
            other
            for other in self._programme.stages
            if (other.kind, other.tower) == ("residuals", stage.tower)
        )
        size = facts.expected_size * facts.outputs
        signal = 2.0 * math.sqrt(size) * self._kappa(training, progress)
        state = estimates.learn_moments(facts, state, mean, deviation, signal)
        return progress.remember(state.to_memory(stage.tower))

    def _learn_residuals(
        self, stage: Stage, progress: Progress, mean: Floats, deviation: float
    ) -> Progress:
        facts, scales = self._facts(stage), self._scales(stage, progress)
        state = self._state(stage, progress)
        state = estimates.learn_residuals(facts, scales, state, mean, deviation)
        weights, bias = estimates.weights_and_bias(facts, scales, state)
        flat = np.concatenate([weights.T.ravel(), bias])
        tower = progress.model.towers[stage.tower]
        networks = self._programme.networks
        tower = (
            replace(tower, skip=flat) if networks else replace(tower, parameters=flat)
        )
        after = progress.with_tower(stage.tower, tower)
        after = after.remember(state.to_memory(stage.tower))
        additive = facts.shape.architecture == "additive"
        return self._calibrated(stage.tower, after) if additive else after

    def _calibrated(self, tower: int, progress: Progress) -> Progress:
        """Return the state with an intercept that fits the towers so far."""
        base, model = self._base(progress), progress.model
        squares = sum(self._squares(place, progress) for place in range(tower + 1))
        logits = calibrated_logits(
            self._programme.loss,
            base,
            "base.rate" in progress.memory,
            np.asarray(squares),
        )
        shifts = np.zeros((len(model.towers), len(model.intercept)))
        if model.shifts.size:
            shifts = model.shifts.reshape(shifts.shape).copy()
        shifts[tower:] = logits - model.intercept
        return replace(progress, model=replace(model, shifts=shifts.ravel()))

    def _squares(self, tower: int, progress: Progress) -> Floats:
        """Return the mean squares of a tower's logits that released values imply."""
        stage = next(
            each
            for each in self._programme.stages
            if (each.kind, each.tower) == ("residuals", tower)
        )
        state = self._state(stage, progress)
        variance = self._scales(stage, progress).variance
        return np.asarray(variance @ state.weights**2)

    def _sizes(self, progress: Progress) -> Floats:
        """Return the size of each tower's logits, by which they are made alike."""
        towers = range(len(progress.model.towers))
        squares = [self._squares(place, progress).sum() for place in towers]
        return np.maximum(np.sqrt(squares), LEAST_SIZE)

    def _learn_amplitudes(
        self, progress: Progress, mean: Floats, deviation: float, units: float
    ) -> Progress:
        """Return the state with the towers' factors and the shift that goes with them.

        They are for models with all towers; others keep theirs.
        """
        base, model = self._base(progress), progress.model
        before = AmplitudeEstimate.from_memory(model, progress.memory)
        size, outputs = self._sizes(progress), len(model.intercept)
        most = self._amplitude_bounds(len(size), progress)
        usual = 1.0
        if self._programme.loss != "squared":
            usual = float(np.mean(base.rate * (1.0 - base.rate)))
        after = amplitudes.learn_amplitudes(
            before, most, size, mean, deviation, units, usual
        )
        shifts = model.shifts.copy()
        shifts[-outputs:] = after.shift
        model = replace(model, shifts=shifts, factors=after.factors)
        return replace(progress, model=model).remember(after.to_memory())

    def _amplitude_bounds(self, towers: int, progress: Progress) -> AmplitudeBounds:
        outputs, spread = len(progress.model.intercept), self._base(progress).spread
        return amplitudes.bounds(self._programme.loss, towers, outputs, spread)

    def _residuals_question(
        self, stage: Stage, progress: Progress
    ) -> dict[str, Floats]:
        loss, state = self._programme.loss, self._state(stage, progress)
        scales = self._scales(stage, progress)
        base = replace(self._base(progress), rate=scales.reference)
        radius = scales.focus_radius(state.focus)
        return {
            "centre": state.centre,
            "scale": scales.scale * state.focus / radius,
            "residual": np.array([scales.residual]),
            "reference": base.logits(loss),
            "listen": np.array([float(listens(loss, len(stage.releases)))]),
            **({"basis": state.basis} if state.basis.size else {}),
        }

    def _network(self, stage: Stage, progress: Progress) -> Tower:
        """Return the tower as served, its network's inputs scaled by its statistics."""
        centre = self._state(stage, progress).centre
        tower = progress.model.towers[stage.tower]
        return network_part.with_inputs(tower, centre, self._scales(stage, progress))

    def _network_question(
        self, stage: Stage, progress: Progress
    ) -> tuple[Model, dict[str, Floats]]:
        """Ask at the weights of the last round, not at their average."""
        tower = self._network(stage, progress)
        weights = progress.memory.get(f"{stage.tower}.network", tower.parameters)
        asked = progress.with_tower(stage.tower, replace(tower, parameters=weights))
        base = self._base(progress)
        radius = network_part.clip_radius(tower, self._programme.loss, base)
        return asked.model, {"radius": np.array([radius])}

    def _learn_network(
        self, stage: Stage, progress: Progress, mean: Floats
    ) -> Progress:
        tower = self._network(stage, progress)
        weights_key, seen_key = f"{stage.tower}.network", f"{stage.tower}.averaged"
        rounds = len(stage.releases)
        length = network_part.step_length(self._kappa(stage, progress), rounds)
        weights = progress.memory.get(weights_key, tower.parameters) - length * mean
        seen = int(progress.memory.get(seen_key, np.zeros(1))[0])
        served, seen = network_part.averaged_weights(
            tower.parameters, weights, seen, progress.step, rounds
        )
        after = progress.with_tower(stage.tower, replace(tower, parameters=served))
        return after.remember({weights_key: weights, seen_key: np.array([float(seen)])})

    def _base(self, progress: Progress) -> TargetEstimate:
        memory = progress.memory
        if "base.rate" not in memory:
            outputs = self._programme.shapes[0].outputs
            return unknown_target(self._programme.loss, outputs)
        spread, doubt = memory["base.spread"].tolist()
        return TargetEstimate(memory["base.rate"], spread, doubt)

    def _facts(self, stage: Stage) -> RuleFacts:
        return RuleFacts(self._programme.shapes[stage.tower], self._programme.loss)

    def _state(self, stage: Stage, progress: Progress) -> TowerState:
        facts = self._facts(stage)
        return TowerState.from_memory(facts, stage.tower, progress.memory)

    def _scales(
        self, stage: Stage, progress: Progress, base: TargetEstimate | None = None
    ) -> Geometry:
        return geometry(
            self._facts(stage),
            self._base(progress) if base is None else base,
            self._state(stage, progress),
            kappa=self._kappa(stage, progress),
            rounds=len(stage.releases),
        )

    def _kappa(self, stage: Stage, progress: Progress) -> float:
        """Return the bound of the signal over the norm of the noise of all rounds."""
        counted = self._sketches.counted
        precision = sum(
            (counted(stage.at(k), progress).divisor_of(release) / self._noise(release))
            ** 2
            for k, release in enumerate(stage.releases)
        )
        size = stage.dimension
        if stage.kind == "residuals":
            facts = self._facts(stage)
            size = facts.expected_size * facts.outputs
        return math.sqrt(precision / size)

    def _noise(self, release: Release | None, missing: int = 0) -> float:
        """Return the standard deviation of the noise on the released sum."""
        if release is None:
            return 0.0
        return float(release.groups[0].sigma * self._programme.loudness(missing) ** 0.5)
