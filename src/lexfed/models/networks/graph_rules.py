# SPDX-License-Identifier: Apache-2.0
"""The rules by which a graph is a function of its arguments.

A graph may consist of operations of torch that return the same value for the same
arguments and write nowhere. Everything else is refused, by its kind where torch marks
it and by name where it does not: memory that nobody has filled yet may hold another
person's row, and a view that states its own strides may reach one. So may a place
beyond the end that a record asks for: whole numbers may be places only for operations
that compare them with the size.
"""

import operator
import re

import torch
from torch import Tensor, fx
from torch._ops import OpOverload

from lexfed.errors import ConfigError, Problem

_FILLING = frozenset({"aten::copy", "aten::fill", "aten::zero"})
_UNFILLED = re.compile(
    r"_?(new_)?empty(_|$)|as_strided|_reshape_alias|set(_|$)|_?resize|from_file"
)
_POOLED = re.compile(r"(adaptive_)?max_pool[23]d(_with_indices)?_backward")

# fmt: off
# Where vmap keeps the places of records apart by a dimension of their own.
_COMPARED = frozenset(
    {
        "gather", "index", "index_put", "index_select", "scatter", "scatter_add",
        "scatter_reduce",
    }
)
# Where it adds a record's number times the size to a place, which so may be the next
# record's; or may come to do so.
_COMPARED_ALONE = frozenset(
    {
        "embedding", "embedding_dense_backward", "index_add", "index_copy",
        "index_fill", "take",
    }
)
# Operations that take whole numbers for numbers, beside those on single numbers.
_COUNTED = frozenset(
    {
        "_to_copy", "_unsafe_view", "alias", "all", "amax", "amin", "any", "argmax",
        "argmin", "bmm", "cat", "clone", "constant_pad_nd", "copy", "cummax", "cummin",
        "cumsum", "detach", "diagonal", "expand", "fill", "flip", "full_like",
        "lift_fresh_copy", "max", "mean", "min", "mm", "new_full", "new_ones",
        "new_zeros", "ones_like", "permute", "prod", "repeat", "roll", "select",
        "slice", "sort", "split", "split_with_sizes", "squeeze", "stack", "sum", "t",
        "topk", "transpose", "tril", "triu", "unbind", "unfold", "unsqueeze", "view",
        "zero", "zeros_like",
    }
)
# fmt: on


def require_function(graph: fx.GraphModule) -> None:
    """Refuse a graph that is not a function, and make its constants its own."""
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


def require_forward(graph: fx.GraphModule) -> None:
    """Refuse derivatives in the graph of logits.

    Autograd gives them tensors that fit together, and they rely on it: with others some
    read or write beyond the end.
    """
    for node in graph.graph.nodes:
        if _name(node).endswith("_backward"):
            what = (
                f"its `forward` calls a derivative of torch by itself (`{_name(node)}`)"
            )
            hint = "leave derivatives to autograd; a model's logits need none"
            raise ConfigError([Problem("model", what, hint)])


def looks_up(graph: fx.GraphModule) -> bool:
    """Return True if records may be computed one at a time only.

    In a graph for many, a place beyond the end could be another record's.
    """
    return any(_name(node) in _COMPARED_ALONE for node in graph.graph.nodes)


def _name(node: fx.Node) -> str:
    schema = getattr(node.target, "_schema", None)
    return "" if schema is None else str(schema.name).removeprefix("aten::")


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
        return (
            f"its `forward` uses `{target}`, which is no operation of torch",
            "write it with operations of torch",
        )
    name = _name(node)
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
    if not target._schema.returns:
        return (
            f"its `forward` stops where values are not as it expects (`{name}`), which "
            "would tell that there is such a record",
            "return `nan` for such a record instead; it then counts nothing",
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
    if not _compares_places(node, target):
        return (
            f"its `forward` gives whole numbers to `{name}`, which may take them for "
            "places without a look at the size, and so reach other people's records",
            "turn them into floating point, or look up by `gather` or an index",
        )
    return None


def _compares_places(node: fx.Node, target: OpOverload) -> bool:
    """Return True if no whole number is taken for a place beyond the end."""
    whole = [given for given in node.all_input_nodes if _is_whole(given)]
    if not whole or torch.Tag.pointwise in target.tags:
        return True
    if _POOLED.fullmatch(_name(node)):
        # Places that the same pooling of the same input has found.
        (places,) = whole
        return (
            places.target is operator.getitem
            and isinstance(pooling := places.args[0], fx.Node)
            and f"{_name(pooling)}_backward" == _name(node)
            and pooling.args[0] is node.args[1]
        )
    return _name(node) in _COMPARED | _COMPARED_ALONE | _COUNTED


def _is_whole(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return (
        isinstance(value, Tensor)
        and not value.is_floating_point()
        and not value.is_complex()
        and value.dtype != torch.bool
    )


def _varies(node: fx.Node) -> bool:
    """Return True if the shape of a result depends on values."""
    results = node.meta.get("val")
    return any(
        not isinstance(size, int)
        for result in (results if isinstance(results, tuple | list) else (results,))
        if isinstance(result, Tensor)
        for size in result.shape
    )


def _is_overwritten(node: fx.Node) -> bool:
    """Return True if memory is filled by all that use it, before anything is read."""
    return all(
        getattr(user.target, "_schema", None) is not None
        and user.target._schema.name in _FILLING  # type: ignore[union-attr]
        and user.args[0] is node
        and node not in user.args[1:]
        for user in node.users
    )
