# SPDX-License-Identifier: Apache-2.0
"""Which graphs are functions of their arguments.

A graph may consist of operations of torch that return the same value for the same
arguments and write nowhere. Everything else is refused, by its kind where torch marks
it and by name where it does not: memory that nobody has filled yet may hold another
person's row, and a view that states its own strides may reach one.
"""

import operator
import re

import torch
from torch import Tensor, fx
from torch._ops import OpOverload

from lexfed.errors import ConfigError, Problem

_FILLING = frozenset({"aten::copy", "aten::fill", "aten::zero"})
_UNFILLED = re.compile(r"(new_)?empty(_|$)|as_strided|set_|resize")


def require_function(graph: fx.GraphModule) -> None:
    """Refuse a graph that is not a function, and make its constants its own.

    Raises:
        ConfigError: with each operation that is not allowed, once.
    """
    reasons = dict.fromkeys(
        reason
        for node in graph.graph.nodes
        if (reason := _objection(graph, node)) is not None
    )
    if reasons:
        raise ConfigError([Problem("model", *reason) for reason in reasons])
    for node in graph.graph.nodes:
        if node.op == "get_attr":
            constant = getattr(graph, node.target)
            setattr(graph, node.target, constant.detach().clone())


def _objection(graph: fx.GraphModule, node: fx.Node) -> tuple[str, str] | None:
    if node.op in ("placeholder", "output") or node.target is operator.getitem:
        return None
    if node.op == "get_attr":
        constant = getattr(graph, str(node.target), None)
        # Exactly: a class of somebody's own brings its own code.
        if type(constant) is Tensor:
            return None
        return (
            "its `forward` uses something that is neither a weight nor a constant: a "
            "tensor kept from another call, or one of a class of its own",
            "compute from the given record, and keep nothing between calls",
        )
    target = node.target
    if not isinstance(target, OpOverload) or target.namespace != "aten":
        return _foreign(str(target))
    name = target._schema.name.removeprefix("aten::")
    if torch.Tag.nondeterministic_seeded in target.tags:
        return (
            f"its `forward` draws random numbers (`{name}`), so a run cannot be "
            "repeated",
            "remove it; the noise of private training regularises already",
        )
    if target._schema.is_mutable:
        return (
            f"its `forward` writes into its input, its weights or a buffer (`{name}`), "
            "so one record could reach another's gradient",
            "compute new tensors instead, and keep nothing between calls",
        )
    if torch.Tag.data_dependent_output in target.tags or _varies(node):
        return (
            f"its `forward` turns values of a record into numbers of Python, or into a "
            f"shape (`{name}`)",
            "use operations whose result has a fixed shape, such as `torch.where`",
        )
    if _UNFILLED.match(name) and not _is_overwritten(node):
        return (
            f"its `forward` reads memory that it did not fill (`{name}`), which may "
            "hold other people's records",
            "use `torch.zeros`, and `reshape` or `unfold` instead of strides",
        )
    return None


def _varies(node: fx.Node) -> bool:
    """Say whether the shape of a result depends on values."""
    results = node.meta["val"]
    return any(
        not isinstance(size, int)
        for result in (results if isinstance(results, tuple | list) else (results,))
        if isinstance(result, Tensor)
        for size in result.shape
    )


def _is_overwritten(node: fx.Node) -> bool:
    """Say whether memory is filled by all that use it, before anything is read."""
    return all(
        getattr(user.target, "_schema", None) is not None
        and user.target._schema.name in _FILLING  # type: ignore[union-attr]
        and user.args[0] is node
        and node not in user.args[1:]
        for user in node.users
    )


def _foreign(name: str) -> tuple[str, str]:
    return (
        f"its `forward` uses `{name}`, which is no operation of torch",
        "write it with operations of torch",
    )
