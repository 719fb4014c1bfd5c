# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Lowers functions of JAX to StableHLO with the names of their arguments and results, and finds which arguments are state."""
from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

import jax
import numpy as np

from .._errors import UsageError


def dotted(root: str, path: Sequence[Any]) -> str:
    """The name of a leaf as Import makes it of JAX's: keys joined by dots, a dot within a key as `\\\\.`."""
    keys = [root] if root else []
    for key in path:
        part = next((str(getattr(key, name)) for name in ("key", "idx", "name") if hasattr(key, name)), str(key))
        keys.append(part.replace(".", "\\."))
    return ".".join(keys)


def to_host(leaf: Any) -> Any:
    """A leaf as an array of the host; keys of random numbers are the words that they are made of."""
    if hasattr(leaf, "dtype") and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        leaf = jax.random.key_data(leaf)
    return np.asarray(leaf)


@dataclass
class Leaf:
    """An array of an argument or a result, with its name and type."""

    name: str
    shape: Tuple[int, ...]
    dtype: np.dtype


@dataclass
class Lowered:
    """A function that was lowered for arguments.

    Attributes:
        text: the graph.
        arguments: the leaves of each argument.
        results: the leaves of each result; a function that returns no tuple has one result.
        state: for each argument that is state the result that is its next value; None where the graph does not update it.
    """

    text: str
    names: List[str]
    arguments: List[List[Leaf]]
    results: List[List[Leaf]]
    result_trees: List[Any]
    returns_tuple: bool
    state: Dict[int, Optional[int]]

    def model(self) -> Dict[str, Any]:
        """The part `model` of a strategy that says which arguments are state."""
        first = min(self.state)
        model: Dict[str, Any] = {"parameters": [_glob(self.names[first], self.arguments[first])]}
        carry = []
        for argument, result in self.state.items():
            if result is not None:
                carry.append({"argument": _below(self.names[argument], self.arguments[argument]),
                              "result": _below(str(result) if self.returns_tuple else "", self.results[result])})
        if carry:
            model["carry"] = carry
        return model


def _glob(name: str, leaves: List[Leaf]) -> str:
    """A glob of the parameters in an argument: of `params` within a whole training state."""
    if any(leaf.name.startswith(f"{name}.params.") for leaf in leaves):
        return f"{name}.params.*"
    return name if len(leaves) == 1 and leaves[0].name == name else f"{name}.*"


def _below(root: str, leaves: List[Leaf]) -> str:
    """A glob of all leaves of an argument or a result; its tree names them alike in both."""
    if len(leaves) == 1 and leaves[0].name in (root, "result"):
        return leaves[0].name
    return f"{root}.*" if root else "*"


def lower(function: Callable, args: Sequence[Any], state: Union[None, int, Sequence[int]] = None) -> Lowered:
    """Lowers `function` for `args`, of which those of the numbers `state` are state. By default they are found: the arguments that a result
    has the tree and the types of, in their order; the first argument, if there is none."""
    names = _names(function, len(args))
    lowered = jax.jit(function, keep_unused=True).lower(*args)
    infos = [jax.tree_util.tree_flatten_with_path(info)[0] for info in lowered.args_info[0]]
    arguments = [[Leaf(dotted(name, path), _shape(info), _dtype(info)) for path, info in leaves] for name, leaves in zip(names, infos)]
    out = lowered.out_info
    returns_tuple = isinstance(out, (tuple, list)) and not hasattr(out, "_fields")
    outs = list(out) if returns_tuple else [out]
    results, trees = [], []
    for index, one in enumerate(outs):
        leaves, tree = jax.tree_util.tree_flatten_with_path(one)
        root = str(index) if returns_tuple else ""
        results.append([Leaf(dotted(root, path) or "result", _shape(info), _dtype(info)) for path, info in leaves])
        trees.append(tree)
    argument_trees = [jax.tree_util.tree_structure(info) for info in lowered.args_info[0]]
    found = _find_state(arguments, argument_trees, results, trees, state)
    return Lowered(lowered.as_text(debug_info=True), names, arguments, results, trees, returns_tuple, found)


def _shape(info: Any) -> Tuple[int, ...]:
    return tuple(info.shape)


def _dtype(info: Any) -> Any:
    return info.dtype


def _names(function: Callable, count: int) -> List[str]:
    """The names of the arguments, as JAX has them."""
    parameters = list(inspect.signature(function).parameters.values())
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), None)
    if rest is not None:
        names += [f"{rest}[{index}]" for index in range(count - len(names))]
    if count > len(names):
        raise UsageError(f"{getattr(function, '__name__', 'the function')} takes {len(names)} arguments but got {count}")
    # `rest[0]` is a path of its own.
    return [name.replace("[", ".").replace("]", "") for name in names[:count]]


def _find_state(arguments, argument_trees, results, trees, state) -> Dict[int, Optional[int]]:
    def is_alike(argument: int, result: int) -> bool:
        return (argument_trees[argument] == trees[result] and len(arguments[argument]) == len(results[result]) and
                all(a.shape == r.shape and a.dtype == r.dtype for a, r in zip(arguments[argument], results[result])))

    wanted = None if state is None else [state] if isinstance(state, int) else list(state)
    if wanted is not None and any(not 0 <= index < len(arguments) for index in wanted):
        raise UsageError(f"state {state} names an argument that is none of the {len(arguments)}")
    found: Dict[int, Optional[int]] = {}
    free = [index for index in range(len(results)) if results[index]]
    for argument in range(len(arguments)) if wanted is None else wanted:
        # An argument without arrays, such as the state of plain SGD, needs no result.
        match = next((result for result in free if is_alike(argument, result)), None) if arguments[argument] else None
        if match is not None:
            found[argument] = match
            free.remove(match)
        elif wanted is not None:
            found[argument] = None
    return found or {0: None}
