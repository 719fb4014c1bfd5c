# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a module to the files that a compilation begins with."""

from __future__ import annotations

import inspect
import math
import operator
import pathlib
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import torch

from . import _tensors
from ._error import ExportError
from ._joint import Updates, trace_joint
from ._print import Printer, constant_of
from ._strategy import make_strategy
from ._text import Builder, Value
from ._trace import PREFIX, Loss, OwnBackward, Trace, trace
from .aten import Unsupported, type_of_tensor

# The defaults of torch.optim.AdamW.
_OPTIMIZER = "adamw { lr { constant: 1e-3 } beta1: 0.9 beta2: 0.999 eps: 1e-8 weight_decay: 0.01 }"
# Buffers that a module does not save are constants of the graph up to this size, and variables beyond.
_CONSTANT_ELEMENTS = 1 << 16
_KEY = "key"
_STEP = "step"
_STOPS = ("meshwright.stop_gradient.default",)


@dataclass
class Exported:
    """A graph, the initial values of its variables, and a strategy to begin with."""

    text: str
    state: dict[str, torch.Tensor]
    strategy: str
    # The inputs of a step by name, and the variables that are not trained.
    inputs: dict[str, torch.Tensor] = field(default_factory=dict)
    frozen: list[str] = field(default_factory=list)

    def save(self, path) -> None:
        """Writes PATH.mlir, PATH.safetensors and PATH.textproto."""
        stem = pathlib.Path(path)
        stem = stem.with_suffix("") if stem.suffix == ".mlir" else stem
        stem.parent.mkdir(parents=True, exist_ok=True)
        name = lambda suffix: stem.parent / (stem.name + suffix)
        name(".mlir").write_text(self.text)
        _tensors.save(name(".safetensors"), self.state)
        name(".textproto").write_text(self.strategy)


def export(module: torch.nn.Module, example_inputs: Sequence | Mapping, loss: Callable | None = None, path=None, *, targets: Sequence | Mapping = (),
           name: str | None = None, backward: str = "meshwright", optimizer: torch.optim.Optimizer | None = None) -> Exported:
    """Exports the loss of a module as StableHLO text.

    `example_inputs` are the arguments of the module's forward, in order or by name; their shapes and types are those of every step.
    `loss(result, *targets)` is a function of what the module returns and of `targets`, further inputs of a step, in order or by the names
    of the function's parameters. Without it the module returns its loss: a scalar, the attribute or key `loss`, or the first of a tuple.

    With `backward="torch"` the graph is a whole training step: PyTorch's own backward pass, and the update of `optimizer`.

    With `path` the files PATH.mlir, PATH.safetensors (initial values) and PATH.textproto (a strategy) are written.
    Raises ExportError, with the model's line, for what has no text.
    """
    if backward not in ("meshwright", "torch"):
        raise ExportError(f'backward is "{backward}"; it can be "meshwright" or "torch"')
    if (backward == "torch") != (optimizer is not None):
        raise ExportError('backward="torch" exports a whole step, which takes optimizer=; otherwise the optimizer is the strategy\'s')
    given = _bind(module.forward, example_inputs, "example_inputs")
    keywords = isinstance(example_inputs, Mapping)
    further = _bind(loss, targets, "targets", skip=1) if loss is not None and len(targets) else []
    if loss is None and len(targets):
        raise ExportError("targets are inputs of the loss; give loss=, a function of the module's result and the targets")
    inputs = dict(given)
    for key, value in further:
        if key in inputs:
            raise ExportError(f"the module and the loss both have an input {key}; rename the parameter of the loss")
        inputs[key] = value
    wrapped = Loss(module, loss, len(given), [key if keywords else None for key, _ in given])
    wrapped.train(module.training)
    values = list(inputs.values())
    name = name or re.sub(r"\W", "_", type(module).__name__)
    exported = _print(module, inputs, name, values, wrapped) if optimizer is None else _print_step(module, inputs, name, values, wrapped, optimizer)
    if path is not None:
        exported.save(path)
    return exported


def _bind(function, values, what: str, skip: int = 0) -> list[tuple[str, torch.Tensor]]:
    """Names and tensors: the names of a function's parameters, or those of a dictionary."""
    function = function.forward if isinstance(function, torch.nn.Module) else function
    if isinstance(values, Mapping):
        pairs = list(values.items())
    else:
        parameters = list(inspect.signature(function).parameters.values())[skip:]
        variadic = next((each.name for each in parameters if each.kind is each.VAR_POSITIONAL), None)
        names = [each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
        names += [f"{variadic}{index}" for index in range(len(values) - len(names))] if variadic else []
        if len(values) > len(names):
            raise ExportError(f"{what} are {len(values)} values, but there are {len(names)} parameters")
        pairs = list(zip(names, values))
    for key, value in pairs:
        if not isinstance(value, torch.Tensor):
            raise ExportError(f"{what}: {key} is {type(value).__name__}, not a tensor; fix other arguments in a wrapper of the module")
    return pairs


def _path_of(name: str) -> str:
    """A name as a path in Python, which the compiler turns into the same dotted name."""
    first, *rest = name.split(".")
    return first + "".join(f".{part}" if re.fullmatch(r"[\w-]+", part) else f"['{part}']" for part in rest)


class _Arguments:
    """The arguments of `@main` in order: variables, then inputs."""

    def __init__(self):
        self.all: list[tuple[Value, str, str]] = []
        self.names: set[str] = set()

    def add(self, name: str, shape, element: str, more: str = "") -> Value:
        if name in self.names:
            raise ExportError(f"two arguments of the graph are called {name}; rename an input or a module")
        self.names.add(name)
        value = Value("%key" if name == _KEY and element == "ui32" else f"%arg{len(self.all)}", tuple(shape), element)
        self.all.append((value, _path_of(name), more))
        return value


def _print(module, inputs, name, values, wrapped) -> Exported:
    traced = trace(wrapped, values)
    variables = _Variables(module, traced)
    _warn(variables)
    return _Text(traced, variables, inputs).print(name)


def _print_step(module, inputs, name, values, wrapped, optimizer) -> Exported:
    own_backward = False
    try:
        traced = trace(wrapped, values)
    except OwnBackward:
        own_backward = True
        traced = trace(wrapped, values, own_backward)
    variables, tensors = _Variables(module, traced), dict(module.named_parameters())
    _warn(variables)
    joint = trace_joint(wrapped, values, [tensors[key] for key in variables.frozen if key in tensors], own_backward)
    # Variables of the step are those of its own graph, which has none that are not read.
    return _Text(joint, _Variables(module, joint, variables.frozen), inputs, optimizer, {id(value): key for key, value in tensors.items()}).print(name)


class _Text:
    """The text of a graph: arguments, operations, results."""

    def __init__(self, traced: Trace, variables: _Variables, inputs, optimizer=None, names=None):
        self.builder, self.arguments = Builder(), _Arguments()
        self.printer = Printer(self.builder, traced.module, PREFIX)
        self.traced, self.variables, self.inputs = traced, variables, inputs
        self.updates = Updates(self.builder, optimizer, names) if optimizer is not None else None
        self.state: dict[str, torch.Tensor] = {}
        self.placeholders = {node.name: node for node in traced.graph.nodes if node.op == "placeholder"}
        # The variables that the graph returns, in the order of its results after the loss.
        self.carried = list(traced.mutated)
        if self.updates is not None:
            trained = [key for key in variables.tensors if key in traced.gradients and key in self.updates.groups]
            self.carried += trained + [state for key in trained for state in self.updates.state_names(key)] + [_STEP]
        self.results = {key: index + 1 for index, key in enumerate(self.carried)}

    def _variable(self, name: str, tensor: torch.Tensor) -> Value:
        donated = f"tf.aliasing_output = {self.results[name]} : i32" if name in self.results else ""
        self.state[name] = tensor.detach()
        return self.arguments.add(name, *_checked_type(name, tensor), donated)

    def _add_arguments(self):
        for name, tensor in self.variables.tensors.items():
            value = self._variable(name, tensor)
            for node in self.variables.nodes[name]:
                self.printer.values[node] = value
            for state in self.updates.state_names(name) if self.updates and name in self.results else []:
                self.updates.before[state] = self._variable(state, torch.zeros_like(tensor))
        if self.updates is not None:
            self.updates.step = self._variable(_STEP, torch.zeros((), dtype=torch.int64))
        for node, tensor in self.variables.constants.items():
            self.printer.values[node] = constant_of(self.builder, tensor)
        for graph_name, (key, tensor) in zip(self.traced.inputs, self.inputs.items()):
            self.printer.values[self.placeholders[graph_name]] = self.arguments.add(key, *_checked_type(key, tensor))

    def _results(self) -> list[tuple[Value, str]]:
        values = {buffer: self.printer.values[node] for buffer, node in self.traced.mutated.items()}
        if self.updates is not None:
            self.builder.location = self.builder.locations.get("optimizer", "update", [])
            self.updates.step = values[_STEP] = self.builder.shift(self.updates.step, 1)
            for name in self.carried:
                if name in self.updates.groups and name in self.traced.gradients:
                    parameter = self.printer.values[self.variables.nodes[name][0]]
                    values[name] = self.updates.print(name, parameter, self.printer.values[self.traced.gradients[name]])
            values |= self.updates.after
        return [(self.printer.values[self.traced.loss], "loss"), *((values[name], name) for name in self.carried)]

    def print(self, name: str) -> Exported:
        self._add_arguments()
        self.printer.run(self.traced.graph.nodes)
        key = [_KEY] if self.printer.key is not None else []
        if key:
            self.arguments.add(_KEY, self.printer.key.shape, self.printer.key.element)
        text = self.builder.print(name, self.arguments.all, self._results())
        kept = [variable for variable in self.variables.tensors if variable not in self.traced.mutated]
        others = [*self.traced.mutated, *(state for state in self.carried if state not in kept), *self.inputs, *key]
        strategy = make_strategy(kept, [] if self.updates else self.variables.frozen, others, _batch_of(self.inputs), None if self.updates else _OPTIMIZER)
        return Exported(text, self.state, strategy, dict(self.inputs), self.variables.frozen)


def _checked_type(name: str, tensor: torch.Tensor):
    try:
        return type_of_tensor(tensor)
    except Unsupported as problem:
        raise ExportError(f"{name} {problem}") from None


def _batch_of(inputs: dict[str, torch.Tensor]) -> list[str]:
    """The inputs whose first dimension is as large as that of the first input that has one."""
    sizes = [tensor.shape[0] for tensor in inputs.values() if tensor.dim()]
    return [key for key, tensor in inputs.items() if tensor.dim() and tensor.shape[0] == sizes[0]]


class _Variables:
    """Parameters and buffers of the graph by name, each tensor once, and those that are not trained."""

    def __init__(self, module, traced: Trace, frozen: list[str] | None = None):
        placeholders = {node.name: node for node in traced.graph.nodes if node.op == "placeholder"}
        self.tensors: dict[str, torch.Tensor] = {}
        self.nodes: dict[str, list] = {}
        self.constants: dict = {}
        self.frozen: list[str] = []
        self.unused: list[str] = []
        self.unreached: list[str] = []
        # The first name of each tensor: weights that are tied have several.
        first: dict[int, str] = {}
        every = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
        for name, tensor in every.items():
            first.setdefault(id(tensor), name)
        for graph_name, target in traced.parameters.items():
            self._add(first[id(every[target])], every[target], placeholders[graph_name])
        unsaved = _unsaved_buffers(module)
        for graph_name, target in traced.buffers.items():
            node, tensor = placeholders[graph_name], every[target]
            if target in traced.mutated:
                self._add(target, tensor, node)
            elif target in unsaved and tensor.numel() <= _CONSTANT_ELEMENTS:
                self.constants[node] = tensor
            elif node.users:
                self._add(first[id(tensor)], tensor, node)
        for graph_name, tensor in traced.constants.items():
            self.constants[placeholders[graph_name]] = tensor
        if frozen is None:
            self._freeze(traced, set(traced.parameters))
        else:
            self.frozen = [name for name in self.tensors if name in frozen]

    def _add(self, name: str, tensor: torch.Tensor, node):
        self.tensors.setdefault(name, tensor)
        self.nodes.setdefault(name, []).append(node)

    def _freeze(self, traced: Trace, parameters: set[str]):
        reached = _differentiated(traced)
        for name, tensor in self.tensors.items():
            nodes = self.nodes[name]
            if name in traced.mutated:
                continue
            wants = nodes[0].name in parameters and tensor.requires_grad
            if not wants or not any(node in reached for node in nodes):
                self.frozen.append(name)
            if wants and not any(node.users for node in nodes):
                self.unused.append(name)
            elif wants and name in self.frozen:
                self.unreached.append(name)


def _unsaved_buffers(module) -> set[str]:
    return {f"{path}.{name}" if path else name for path, child in module.named_modules(remove_duplicate=False) for name in child._non_persistent_buffers_set}


def _differentiated(traced: Trace) -> set:
    """The nodes to which a gradient of the loss may flow: through floats, and not through what stops it."""
    reached, pending = set(), [traced.loss]
    while pending:
        node = pending.pop()
        value = node.meta.get("val")
        values = value if isinstance(value, (tuple, list)) else [value]
        if node in reached or not any(isinstance(each, torch.Tensor) and each.dtype.is_floating_point for each in values):
            continue
        reached.add(node)
        if str(node.target) not in _STOPS:
            pending.extend(node.all_input_nodes)
    return reached


def _warn(variables: _Variables):
    for names, why in ((variables.unused, "the loss does not depend on"), (variables.unreached, "no gradient of the loss reaches")):
        if names:
            shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
            warnings.warn(f"{why} {shown}: frozen in the strategy", stacklevel=4)
