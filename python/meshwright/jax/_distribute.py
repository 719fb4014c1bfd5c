# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Distributes functions of JAX: lowers, compiles, and runs them by an engine."""
from __future__ import annotations

import os
import pathlib
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

import jax
import numpy as np

from .. import safetensors
from .._errors import InputError, UsageError
from .._message import text_of
from .._package import Package, compile
from ..strategy import Model, Strategy
from ._engines import ENGINES
from ._lower import Lowered, lower, to_host

# The files of a package that `distribute` adds, and those of `export`.
GRAPH, INITIAL, STRATEGY = "graph.mlir", "initial.safetensors", "strategy.textproto"


class DistributedStep:
    """A function of JAX that runs distributed. It keeps the state: a call takes the other arguments and returns the other results, as arrays of
    numpy.

    Attributes:
        package: the compiled package, with its plan.
    """

    def __init__(self, lowered: Lowered, package: Package, engine: Any, args: Sequence[Any]):
        self.package, self._lowered, self._engine = package, lowered, engine
        self._state_trees = {index: jax.tree_util.tree_structure(args[index]) for index in lowered.state}
        self._inputs = [index for index in range(len(args)) if index not in lowered.state]
        self._input_trees = {index: jax.tree_util.tree_structure(args[index]) for index in self._inputs}
        carried = set(lowered.state.values())
        self._outputs = [index for index in range(len(lowered.results)) if index not in carried]

    def __call__(self, *inputs: Any) -> Any:
        """Runs a step: takes the arguments that are not state, in their order, and returns the results that are not."""
        if len(inputs) != len(self._inputs):
            names = ", ".join(self._lowered.names[index] for index in self._inputs)
            raise UsageError(f"a step takes {len(self._inputs)} inputs ({names}) but got {len(inputs)}; the state is kept")
        feeds: Dict[str, Any] = {}
        for index, value in zip(self._inputs, inputs):
            feeds.update(flatten(value, self._lowered, index, self._input_trees[index]))
        found = self._engine.step(feeds)
        results = []
        for index in self._outputs:
            leaves = [found[leaf.name] for leaf in self._lowered.results[index]]
            results.append(jax.tree_util.tree_unflatten(self._lowered.result_trees[index], leaves))
        return results[0] if len(results) == 1 else tuple(results)

    @property
    def state(self) -> Any:
        """The state: the arguments of it as they are now, with arrays of numpy. One alone, or a tuple of several."""
        arguments = []
        for index, tree in self._state_trees.items():
            leaves = [self._engine.get(leaf.name) for leaf in self._lowered.arguments[index]]
            arguments.append(jax.tree_util.tree_unflatten(tree, leaves))
        return arguments[0] if len(arguments) == 1 else tuple(arguments)

    @property
    def session(self) -> Any:
        """The session that runs the steps, of the engine "meshwright"."""
        return self._engine.session


def flatten(value: Any, lowered: Lowered, index: int, tree: Any) -> Dict[str, np.ndarray]:
    """The arrays of an argument by name, in the types of the graph."""
    leaves, found = jax.tree_util.tree_flatten(value)
    if found != tree:
        raise InputError(f"argument \"{lowered.names[index]}\" has the tree {found} but was lowered with {tree}")
    arrays = {}
    for leaf, wanted in zip(leaves, lowered.arguments[index]):
        array = to_host(leaf)
        # As JAX does where 64 bits are not enabled, and for numbers of Python.
        if array.dtype != wanted.dtype and np.dtype(wanted.dtype) == jax.dtypes.canonicalize_dtype(array.dtype):
            array = array.astype(wanted.dtype)
        elif array.dtype != wanted.dtype and not hasattr(leaf, "dtype"):
            array = array.astype(wanted.dtype)
        arrays[wanted.name] = array
    return arrays


def _initial(lowered: Lowered, args: Sequence[Any]) -> Dict[str, np.ndarray]:
    arrays: Dict[str, np.ndarray] = {}
    for index in lowered.state:
        arrays.update(flatten(args[index], lowered, index, jax.tree_util.tree_structure(args[index])))
    return arrays


def _mesh(mesh: Any) -> List[Tuple[str, int]]:
    if isinstance(mesh, Mapping):
        return list(mesh.items())
    if hasattr(mesh, "axis_names"):  # jax.sharding.Mesh
        return [(name, mesh.shape[name]) for name in mesh.axis_names]
    raise TypeError(f"a mesh is a dictionary of the sizes of its axes, or a Mesh of JAX, but not a {type(mesh).__name__}")


def complete_strategy(strategy: Any, lowered: Lowered, mesh: Any) -> str:
    """The text of the strategy, with the mesh and, where it says nothing of parameters, which arguments are state."""
    if isinstance(strategy, os.PathLike):
        strategy = pathlib.Path(strategy).read_text(encoding="utf-8")
    text = "" if strategy is None else text_of(strategy)
    if mesh is not None:
        if _finds("mesh", text):
            raise UsageError("the strategy has a mesh, and another one is given beside it")
        text += "\n" + str(Strategy.from_dict({"mesh": {"axes": [{"name": name, "size": size} for name, size in _mesh(mesh)]}})) + "\n"
    if not re.search(r"^[^#\n]*\bparameters\s*:", text, re.MULTILINE):
        text = _add_model(text, str(Model.from_dict(lowered.model())))
    return text


def _finds(field: str, text: str) -> Optional[re.Match]:
    return re.search(rf"^[^#\n]*?\b{field}\s*:?\s*{{", text, re.MULTILINE)


def _add_model(text: str, fields: str) -> str:
    """Adds fields to the part `model` of a text; its lines stay where they are."""
    found = _finds("model", text)
    if not found:
        return f"{text}\nmodel {{\n{fields}\n}}\n"
    return text[: found.end()] + " " + " ".join(fields.split("\n")) + " " + text[found.end() :]


def distribute(function: Callable, strategy: Any = None, mesh: Any = None, *, engine: str = "meshwright",
               state: Union[None, int, Sequence[int]] = None, path: "str | os.PathLike | None" = None, threads: int = 0,
               **options: Any) -> Callable[..., DistributedStep]:
    """Distributes a training step, or the loss of a network.

    A training step takes state (parameters, the optimizer's state) and inputs, and returns the next state and whatever else; a loss takes
    parameters and inputs, and the strategy's `train` adds backward and optimizer.

    Args:
        function: the step or the loss, not yet jitted.
        strategy: as `meshwright.compile` takes it.
        mesh: the axes and their sizes, {"dp": 4}, or a Mesh of JAX, for a strategy that has none.
        engine: `meshwright` for our runtime, or `jax` for JAX on its own devices.
        state: the numbers of the arguments that are state. By default those for which a result has the same tree and types; the first argument
            of a function that returns none.
        path: the folder of the package; it gets the graph and the initial state, too.
        threads: of a rank in our runtime; 0 for its share of the cores.
        options: what else `meshwright.compile` takes.

    Returns:
        A function that takes arguments, the first ones, lowers and compiles for them, and returns the `DistributedStep`.
    """
    if engine not in ENGINES:
        raise UsageError(f"there is no engine \"{engine}\"; there are {', '.join(ENGINES)}")

    def start(*args: Any) -> DistributedStep:
        lowered = lower(function, args, state)
        rules = complete_strategy(strategy, lowered, mesh)
        package = compile(lowered.text, rules, path=path, **ENGINES[engine].options, **options)
        initial = _initial(lowered, args)
        if path is not None:
            _write(package.folder, lowered, rules, initial)
        return DistributedStep(lowered, package, ENGINES[engine](package, initial, threads), args)

    return start


def export(function: Callable, args: Sequence[Any], path: "str | os.PathLike", strategy: Any = None, mesh: Any = None, *,
           state: Union[None, int, Sequence[int]] = None) -> None:
    """Writes a step or a loss for `dist-opt`: to the folder `path` the graph with its names (`graph.mlir`), the strategy
    (`strategy.textproto`) with the part of it that says which arguments are state, and the state in `args` (`initial.safetensors`, for
    `dist-run --init`).

    Args:
        function, strategy, mesh, state: as `distribute` takes them.
        args: the arguments to lower for.
        path: the folder, which is made.
    """
    lowered = lower(function, args, state)
    folder = pathlib.Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, lowered, complete_strategy(strategy, lowered, mesh), _initial(lowered, args))


def _write(folder: pathlib.Path, lowered: Lowered, strategy: str, initial: Mapping[str, np.ndarray]) -> None:
    (folder / GRAPH).write_text(lowered.text, encoding="utf-8")
    (folder / STRATEGY).write_text(strategy, encoding="utf-8")
    safetensors.save(folder / INITIAL, initial)
