# SPDX-License-Identifier: Apache-2.0
"""`check_model`: a torch module of one's own, tried before anything is charged.

    # my_models.py
    def small(inputs: int, outputs: int) -> torch.nn.Module:
        return nn.Sequential(nn.Linear(inputs, 8), nn.Tanh(), nn.Linear(8, outputs))

    print(lexfed.check_model("my_models:small"))
    lexfed.train(frame, ..., more={"federation.model": "my_models:small"})

A run makes one model for each tier, so the factory must serve any number of inputs.
The factory and its module are called on made-up records only; what is trained is made
again without their code (`lexfed.models.networks.architectures`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lexfed.errors import ConfigError, Problem
from lexfed.models.networks.architectures import build, build_own
from lexfed.models.networks.flat_parameters import count
from lexfed.models.networks.known_layers import fallback_reason
from lexfed.models.networks.specifications import is_imported
from lexfed.notebook_html import html_table

if TYPE_CHECKING:
    from torch import nn

INPUTS = (1, 2, 16)
"""Numbers of inputs that are tried: a tier may have a single one."""


@dataclass(frozen=True)
class ModelCheck:
    """The findings about a model.

    Attributes:
        problems: why it cannot be trained privately; empty if it can.
        weights: numbers of weights by numbers of inputs.
        slow: why gradients of persons are taken one by one, or "" where closed forms
            are known.
    """

    problems: tuple[Problem, ...]
    weights: dict[int, int]
    slow: str = ""

    @property
    def ok(self) -> bool:
        """True if a run can train it."""
        return not self.problems

    def __str__(self) -> str:
        """Every problem with its hint, or what the model is like."""
        if self.problems:
            return "\n".join(
                f"{p}\n  hint: {p.hint}" if p.hint else str(p) for p in self.problems
            )
        sizes = ", ".join(f"{w} with {n} inputs" for n, w in self.weights.items())
        slow = f"\nslower than others: {self.slow}" if self.slow else ""
        return f"can be trained privately; weights: {sizes}{slow}"

    def _repr_html_(self) -> str:
        """Return it as a notebook shows it."""
        rows = [(problem, problem.hint) for problem in self.problems]
        caption = "Problems" if rows else "Can be trained privately"
        notes = [] if rows else str(self).split("\n")
        return html_table(caption, ["problem", "hint"], rows, notes)


def check_model(
    model: "str | Callable[[int, int], nn.Module]",
    *,
    inputs: Sequence[int] = INPUTS,
    outputs: int = 1,
) -> ModelCheck:
    """Try a model as a run would build it; no data are needed, nothing is charged.

    Args:
        model: its name, as in `federation.model`, or the factory itself: a function of
            the numbers of inputs and outputs that returns a `torch.nn.Module`.
        inputs: numbers of inputs to try.
        outputs: 1 for two classes or a number, else the number of classes.

    Raises:
        ConfigError: if nothing is there to be tried.

    >>> print(check_model("mlp:4"))
    can be trained privately; weights: 13 with 1 inputs, 17 with 2 inputs, 73 with 16 \
inputs
    """
    if not inputs:
        hint = "for example `inputs=(1, 8)`"
        raise ConfigError([Problem("`inputs`", "expected a number at least", hint)])
    given: object = model
    if not isinstance(given, str) and not callable(given):
        what = f"expected a name or a factory, got a `{type(given).__name__}`"
        hint = "a function of the numbers of inputs and outputs that returns the module"
        raise ConfigError([Problem("`model`", what, hint)])
    problems: dict[str, Problem] = {}
    weights: dict[int, int] = {}
    slow = ""
    for number in inputs:
        try:
            built = _built(model, number, outputs)
        except ConfigError as error:
            problems |= {str(problem): problem for problem in error.problems}
        else:
            weights[number] = count(built)
            slow = fallback_reason(built) or ""
    return ModelCheck(tuple(problems.values()), weights, slow)


def _built(
    model: "str | Callable[[int, int], nn.Module]", inputs: int, outputs: int
) -> "nn.Module":
    if isinstance(model, str):
        if ":" in model and not model.startswith("mlp:") and not is_imported(model):
            what = f"`{model}` is not `module:factory`"
            hint = "name a module that can be imported, and a function in it"
            raise ConfigError([Problem("`model`", what, hint)])
        return build(model, inputs, outputs, seed=0)
    name = getattr(model, "__name__", type(model).__name__)
    return build_own(model, f"`{name}`", inputs, outputs)
