# SPDX-License-Identifier: Apache-2.0
"""The model: a sum of towers, one for each tier, that can be served tier by tier.

    f(x) = intercept + h_1(x of tier 1) + ... + h_K(x of tier K)

Tower t reads the slots of its own tier only, and when it is trained the towers below
are a constant (`offset`). So a released value of tower s < t cannot depend on a column
of tier t: that is the isolation Theorem C rests on. A model without tiers (`uniform`,
`grouped`, `none`) is the same thing with one tower that reads everything.

Where the rule trains a network, its tower is linear(x) + network(x): a linear part that
is trained first, and a network on what it leaves unexplained.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.numpy import load, save
from torch import Tensor, nn

from lexfed.arrays import Floats
from lexfed.models.networks.captured_model import CapturedModel
from lexfed.models.networks.flat_parameters import first_layer, flatten
from lexfed.models.networks.flat_parameters import load as load_parameters
from lexfed.models.networks.known_layers import DenseModel, chain, is_dense
from lexfed.models.networks.known_layers import logits as chain_logits
from lexfed.models.shape_functions import BINS, basis_values
from lexfed.models.tower_shapes import TowerShape
from lexfed.tiers import Tier

LONGEST = 2.0
"""Longer records are scaled to this norm: one odd value must not drive the network."""


def _none() -> Floats:
    return np.zeros(0)


def network_inputs(
    shape: TowerShape, slots: Tensor, centre: Floats, scale: Floats
) -> Tensor:
    """Return a tower's slots centred, scaled and cut to norm 2; missing values are 0.

    Centre and scale are released values of the linear part, so they cost nothing more.
    A record's inputs depend on that record alone.
    """
    # Contiguous: the norm of a row is then summed in one order, whoever else is there.
    rows = np.ascontiguousarray(slots.numpy(), dtype=np.float64)
    scaled = (rows - shape.presence(rows) * centre) * scale
    norm = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return torch.from_numpy(scaled / np.maximum(norm / LONGEST, 1.0)).to(slots.dtype)


@dataclass(frozen=True)
class Tower:
    """A tower with its current, released parameters.

    Attributes:
        parameters: flat vector, in the order of the module's parameters.
        skip: parameters of the linear part beside the network, in the order of a
            linear model's; empty for a tower without one.
        centre: released centre of each slot, for the network's inputs.
        scale: released factor of each centred slot. Empty beside a linear part: the
            network is not trained yet and adds nothing.
    """

    shape: TowerShape
    parameters: Floats
    skip: Floats = field(default_factory=_none)
    centre: Floats = field(default_factory=_none)
    scale: Floats = field(default_factory=_none)

    @classmethod
    def untrained(cls, shape: TowerShape) -> "Tower":
        """Return the tower with its initial weights."""
        return cls(shape, flatten(shape.untrained()).numpy())

    def inputs(self, slots: Tensor) -> Tensor:
        """Select the slots this tower reads.

        Indexing, not masking: a slot of another tower is never touched, so not even its
        NaN can leak in through a multiplication by zero.
        """
        chosen = self.shape.slots
        if len(chosen) == slots.shape[-1]:
            return slots
        return slots[..., list(chosen)]

    def module(self, dtype: torch.dtype = torch.float64) -> nn.Module:
        """Return the network with the current parameters, to be used at once.

        Networks of the same shape and type share one object: drawing initial weights
        anew in every round would take longer than the round.
        """
        module = _workspace(self.shape, dtype)
        load_parameters(module, torch.from_numpy(self.parameters))
        return module

    def features(self, slots: Tensor) -> Tensor:
        """Return the network's inputs: slots, or centred and scaled ones."""
        inputs = self.inputs(slots)
        if not self.scale.size:
            return inputs
        return network_inputs(self.shape, inputs, self.centre, self.scale)

    @property
    def linear_part(self) -> "Tower | None":
        """The part beside the network as a tower of its own, if there is one."""
        if not self.skip.size:
            return None
        return Tower(replace(self.shape, architecture="linear"), self.skip)

    def slot_weights(self) -> Floats | None:
        """Return the weights of the slots, [slots, ...], if a linear layer has them."""
        part = self.linear_part or self
        if part.shape.is_additive:
            return None
        first = first_layer(part.module())
        if not isinstance(first, nn.Linear) or first.in_features != len(
            part.shape.slots
        ):
            return None
        weights: Floats = first.weight.detach().double().numpy().T.copy()
        return weights

    def logits(self, slots: Tensor) -> Tensor:
        """Return this tower's share of the logits, `[..., outputs]`.

        They are offsets of the towers above, so a row's logits do not depend on the
        other rows, to the bit: else one person's presence would move everybody's
        gradient, and no clip would cover that.
        """
        linear = self.linear_part
        if self.shape.is_additive:
            return self._additive_logits(slots)
        if linear is None:
            return self._network_logits(slots)
        if not self.scale.size:
            return linear.logits(slots)
        return linear.logits(slots) + self._network_logits(slots)

    @property
    def curves(self) -> Floats:
        """The shape functions at the centres of bins: [numbers, BINS, outputs]."""
        outputs, shaped = self.shape.outputs, len(self.shape.shaped)
        weights = self.parameters[: outputs * self.shape.inputs].reshape(outputs, -1)
        return weights.T[: shaped * BINS].reshape(shaped, BINS, outputs)

    @property
    def plain_part(self) -> "Tower":
        """The part of an additive tower that is linear, with its bias."""
        outputs, shaped = self.shape.outputs, len(self.shape.shaped)
        weights = self.parameters[: outputs * self.shape.inputs].reshape(outputs, -1)
        bias = self.parameters[outputs * self.shape.inputs :]
        rest = weights[:, shaped * BINS :]
        return Tower(self.shape.plain_shape, np.concatenate([rest.ravel(), bias]))

    def _additive_logits(self, slots: Tensor) -> Tensor:
        # Shape functions are looked up and added up column by column, in one order for
        # every row; the rest is a linear tower.
        shape, rows = self.shape, self.inputs(slots).double().numpy()
        shaped = rows[..., shape.shaped]
        present = shape.presence(rows)[..., shape.shaped, None]
        values = present * basis_values(shaped, self.curves)
        total = torch.zeros(*rows.shape[:-1], shape.outputs, dtype=torch.float64)
        for column in range(values.shape[-2]):
            total = total + torch.from_numpy(values[..., column, :])
        plain = self.plain_part
        if plain.shape.slots:
            return total + plain.logits(slots)
        return total + torch.from_numpy(plain.parameters)

    def _network_logits(self, slots: Tensor) -> Tensor:
        inputs = self.features(slots)
        with torch.no_grad():
            flat = inputs.reshape(-1, inputs.shape[-1])
            module = self.module(flat.dtype)
            if isinstance(module, CapturedModel):
                result = module.logits(flat).to(flat.dtype)
            elif is_dense(layers := chain(module)):
                result = DenseModel(layers, flat.dtype, len(flat), 1).logits(flat)
            else:
                result = chain_logits(layers, flat)
        return result.reshape(*inputs.shape[:-1], self.shape.outputs)


@lru_cache(maxsize=32)
def _workspace(shape: TowerShape, dtype: torch.dtype) -> nn.Module:
    return shape.untrained().to(dtype)


@dataclass(frozen=True)
class Model:
    """Towers from the least to the most sensitive tier, and a common intercept.

    Attributes:
        shifts: what is added to the intercept where the first one, two, ... towers are
            served, so that predictions have the released rate on average: towers times
            outputs, flat; empty if they are not known.
        factors: of each tower where all are served; empty if they are not known. They
            depend on the most sensitive tier, so other models do not have them.
    """

    towers: tuple[Tower, ...]
    intercept: Floats
    shifts: Floats = field(default_factory=_none)
    factors: Floats = field(default_factory=_none)

    def logits(self, slots: Tensor, towers: int | None = None) -> Tensor:
        """Return the logits of the first `towers` towers; all by default."""
        count = len(self.towers) if towers is None else towers
        start = torch.from_numpy(self.intercept + self.shift(count))
        if count < len(self.towers) or not self.factors.size:
            return start + self.towers_below(count, slots)
        parts = self.parts(slots)
        for place, factor in enumerate(self.factors):
            start = start + float(factor) * parts[..., place, :]
        return start

    def shift(self, count: int) -> Floats:
        """Return what is added to the intercept where `count` towers are served."""
        outputs = len(self.intercept)
        if not self.shifts.size or count == 0:
            return np.zeros(outputs)
        return self.shifts[(count - 1) * outputs : count * outputs]

    def parts(self, slots: Tensor) -> Tensor:
        """Return the logits of each tower alone, [..., towers, outputs]."""
        return torch.stack([tower.logits(slots) for tower in self.towers], dim=-2)

    def towers_below(self, tower: int, slots: Tensor) -> Tensor:
        """Return the sum of the towers before this one, without the intercept."""
        total = torch.zeros(*slots.shape[:-1], len(self.intercept), dtype=slots.dtype)
        for lower in self.towers[:tower]:
            total = total + lower.logits(slots)
        return total

    def with_tower(self, index: int, tower: Tower) -> "Model":
        """Return the model with one tower replaced."""
        towers = list(self.towers)
        towers[index] = tower
        return replace(self, towers=tuple(towers))


_ARRAYS = ("parameters", "skip", "centre", "scale")
_COMMON = ("intercept", "shifts", "factors")


def to_bytes(
    model: Model,
    metadata: Mapping[str, Any] | None = None,
    extra: Mapping[str, NDArray[Any]] | None = None,
) -> bytes:
    """Return the model as a safetensors file, with JSON metadata and extra arrays."""
    common = {name: getattr(model, name) for name in _COMMON}
    arrays: dict[str, NDArray[Any]] = {n: a for n, a in common.items() if a.size}
    for index, tower in enumerate(model.towers):
        for name in _ARRAYS:
            arrays[f"tower.{index}.{name}"] = getattr(tower, name)
    for name, array in (extra or {}).items():
        arrays[f"extra.{name}"] = np.ascontiguousarray(array)
    shapes = [tower.shape for tower in model.towers]
    header = {
        "shapes": [shape.to_json() for shape in shapes],
        "metadata": dict(metadata or {}),
    }
    return save(arrays, metadata={"lexfed": json.dumps(header, sort_keys=True)})


def from_bytes(content: bytes) -> tuple[Model, dict[str, Any], dict[str, NDArray[Any]]]:
    """Return model, metadata and extra arrays of a file written by `to_bytes`."""
    arrays = load(content)
    size = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["lexfed"])
    towers = [
        Tower(
            _shape_from_json(shape),
            **{name: arrays[f"tower.{index}.{name}"] for name in _ARRAYS},
        )
        for index, shape in enumerate(header["shapes"])
    ]
    extra = {
        name.removeprefix("extra."): array
        for name, array in arrays.items()
        if name.startswith("extra.")
    }
    common = {name: arrays[name] for name in _COMMON if name in arrays}
    return Model(tuple(towers), **common), header["metadata"], extra


def untrained_model(shapes: Sequence[TowerShape]) -> Model:
    """Return the model before its first round."""
    towers = tuple(Tower.untrained(shape) for shape in shapes)
    return Model(towers, np.zeros(shapes[0].outputs))


def _shape_from_json(plain: Mapping[str, Any]) -> TowerShape:
    names = [each.name for each in fields(TowerShape) if each.name in plain]
    values = {name: plain[name] for name in names}
    values = {n: tuple(v) if isinstance(v, list) else v for n, v in values.items()}
    return TowerShape(**{**values, "tier": Tier.parse(plain["tier"])})
