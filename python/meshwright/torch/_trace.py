# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The forward graph of a module, in core ATen.

torch.export gives the graph as PyTorch would differentiate it; its decomposition is one for inference, which loses where
gradients stop. So those places are marked by an operation of their own before: `detach`, and the results of regions
under `no_grad`.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import os
import sys
from dataclasses import dataclass, field

import torch

from ._error import ExportError
from ._text import source_path

# Decompositions that lose a convention of PyTorch's derivative; the table has these operations themselves.
_KEPT = ("linalg_vector_norm.default", "std.correction", "std_mean.correction", "xlogy.Tensor")


@torch.library.custom_op("meshwright::stop_gradient", mutates_args=())
def stop_gradient(x: torch.Tensor) -> torch.Tensor:
    return x.clone()


@stop_gradient.register_fake
def _(x):
    return torch.empty_like(x)


class Loss(torch.nn.Module):
    """The scalar loss of a module: its result, or a function of the result and of further inputs."""

    def __init__(self, module, loss, inputs: int, names: list[str]):
        super().__init__()
        self.module = module
        self._loss = [loss]  # Not a submodule: a loss has no parameters.
        self._inputs = inputs
        self._names = names

    def forward(self, *values):
        # PyTorch names modules by where it finds them, so keywords are those of the module's own forward.
        given = values[:self._inputs]
        keywords = {name: value for name, value in zip(self._names, given) if name is not None}
        plain = [value for name, value in zip(self._names, given) if name is None]
        result = self.module(*plain, **keywords)
        loss, = self._loss
        result = loss(result, *values[self._inputs:]) if loss is not None else result
        return find_loss(result)


def find_loss(result):
    """The loss in what a module returns: itself, the attribute or key `loss`, or the first of several."""
    for found in (getattr(result, "loss", None), result.get("loss") if isinstance(result, dict) else None,
                  result[0] if isinstance(result, (tuple, list)) and result else None, result):
        if isinstance(found, torch.Tensor):
            if found.numel() != 1 or not found.dtype.is_floating_point:
                raise ExportError(f"the module returns a tensor of shape {list(found.shape)} and {found.dtype}, not a scalar loss; give loss=, a function of the result")
            return found.reshape(())
    raise ExportError(f"the module returns {type(result).__name__} without a loss; give loss=, a function of the result")


class OwnBackward(ExportError):
    """The module calls an autograd function."""


@contextlib.contextmanager
def without_own_backward():
    """An autograd function's backward is not part of a forward graph: reports the function instead of losing it."""
    apply = torch.autograd.Function.__dict__["apply"]

    def refuse(cls, *_, **__):
        if cls.__module__.startswith("torch."):
            return apply.__get__(None, cls)(*_, **__)
        raise OwnBackward(f"{cls.__module__}.{cls.__qualname__} is an autograd function with a backward of its own, which the forward graph "
                          'does not have; export with backward="torch"')

    torch.autograd.Function.apply = classmethod(refuse)
    try:
        yield
    finally:
        torch.autograd.Function.apply = apply


@contextlib.contextmanager
def without_lost_regions():
    """torch.export forgets that gradients stop where a region under `no_grad` begins inside of one under autocast: reports it."""
    begin = torch.set_grad_enabled.__init__

    def refuse(self, mode):
        if not mode and any(torch.is_autocast_enabled(device) for device in ("cpu", "cuda")):
            raise ExportError(f"{_caller()}torch.export loses no_grad inside of autocast; put autocast inside of no_grad, "
                              "or leave precision to the strategy (train { precision { compute: BF16 } })")
        begin(self, mode)

    torch.set_grad_enabled.__init__ = refuse
    try:
        yield
    finally:
        torch.set_grad_enabled.__init__ = begin


def _caller() -> str:
    """The innermost line that is running and not PyTorch's or of this file, for a message."""
    frame = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename == __file__ or frame.f_code.co_filename.startswith(os.path.dirname(torch.__file__) + os.sep)):
        frame = frame.f_back
    return f"{source_path(frame.f_code.co_filename)}:{frame.f_lineno}: " if frame is not None else ""


def _inline_regions(module: torch.fx.GraphModule):
    """Replaces regions under `no_grad` or `enable_grad` by their operations, and marks where gradients stop. Regions under autocast stay:
    their decomposition converts types."""
    graph = module.graph
    for node in list(graph.nodes):
        name = str(node.target)
        if node.op == "call_function" and name == "wrap_with_set_grad_enabled":
            _inline(module, node)
        elif node.op == "call_function" and name == "wrap_with_autocast":
            _inline_regions(getattr(module, node.args[4].target))
        elif node.op == "call_function" and name == "aten.detach_.default" and str(getattr(node.args[0], "target", "")) != "aten.lift_fresh_copy.default":
            raise ExportError("detach_() changes a tensor that others may read; use detach()")
        elif node.op == "call_function" and name == "aten.detach.default":
            node.target = torch.ops.meshwright.stop_gradient.default
    graph.eliminate_dead_code()
    graph.lint()
    module.recompile()


def _inline(module, node):
    graph = module.graph
    enabled, region, *inputs = node.args
    inner = getattr(module, region.target)
    _inline_regions(inner)
    values = dict(zip([n for n in inner.graph.nodes if n.op == "placeholder"], inputs))
    with graph.inserting_before(node):
        for each in inner.graph.nodes:
            if each.op == "get_attr":
                target = f"{region.target}_{each.target}"
                setattr(module, target, getattr(inner, each.target))
                values[each] = graph.get_attr(target)
                values[each].meta = copy.copy(each.meta)
            elif each.op not in ("placeholder", "output"):
                values[each] = graph.node_copy(each, lambda n: values[n])
        output = next(n for n in inner.graph.nodes if n.op == "output")
        results = [values.get(result, result) for result in output.args[0]]
        if not enabled:
            results = [_stopped(graph, result) for result in results]
    for user in list(node.users):
        user.replace_all_uses_with(results[user.args[1]])
        graph.erase_node(user)
    graph.erase_node(node)


def _stopped(graph, node):
    value = node.meta.get("val") if isinstance(node, torch.fx.Node) else None
    if not isinstance(value, torch.Tensor) or not value.dtype.is_floating_point:
        return node
    stopped = graph.call_function(torch.ops.meshwright.stop_gradient.default, (node,))
    stopped.meta = {key: node.meta[key] for key in ("val", "stack_trace", "nn_module_stack") if key in node.meta}
    return stopped


@dataclass
class Trace:
    """A graph of operations, and what its arguments and results are."""

    graph: torch.fx.Graph
    module: torch.fx.GraphModule
    # The names of arguments in the graph by kind: parameters and buffers with their names in the module, constants with their values.
    parameters: dict[str, str] = field(default_factory=dict)
    buffers: dict[str, str] = field(default_factory=dict)
    constants: dict[str, torch.Tensor] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    # The new value of each buffer that changes, by its name, and the loss.
    mutated: dict[str, torch.fx.Node] = field(default_factory=dict)
    loss: torch.fx.Node | None = None


PREFIX = "module."


def _by_pytorch(function):
    """What PyTorch does, with its own errors, which are of many kinds, as one."""
    try:
        return function()
    except ExportError:
        raise
    except Exception as problem:
        raise ExportError(f"PyTorch cannot export the module: {str(problem).strip().splitlines()[0]}") from problem


def trace(loss: Loss, values: list[torch.Tensor], own_backward: bool = False) -> Trace:
    """The forward graph of the loss of `values`. Raises OwnBackward for functions with a backward of their own, unless `own_backward` allows them.
    """
    with without_lost_regions(), contextlib.nullcontext() if own_backward else without_own_backward():
        program = _by_pytorch(lambda: torch.export.export(loss, tuple(values), strict=False))
    _inline_regions(program.graph_module)
    table = torch.export.default_decompositions()
    for name in _KEPT:
        packet, _, overload = name.partition(".")
        table.pop(getattr(getattr(torch.ops.aten, packet), overload), None)
    program = _by_pytorch(functools.partial(program.run_decompositions, table))
    signature = program.graph_signature
    found = Trace(program.graph_module.graph, program.graph_module)
    for spec in signature.input_specs:
        name, kind = spec.arg.name, spec.kind.name
        if kind == "PARAMETER":
            found.parameters[name] = spec.target.removeprefix(PREFIX)
        elif kind == "BUFFER":
            found.buffers[name] = spec.target.removeprefix(PREFIX)
        elif kind == "CONSTANT_TENSOR":
            found.constants[name] = program.constants[spec.target]
        elif kind == "USER_INPUT":
            found.inputs.append(name)
        else:
            raise ExportError(f"the graph has an argument {name} of kind {kind.lower()}, which has no text")
    output = next(node for node in found.graph.nodes if node.op == "output")
    for spec, node in zip(signature.output_specs, output.args[0]):
        if spec.kind.name == "BUFFER_MUTATION":
            found.mutated[spec.target.removeprefix(PREFIX)] = node
        elif spec.kind.name == "USER_OUTPUT":
            found.loss = node
        else:
            raise ExportError(f"the module changes {spec.target or 'an input'}, an argument of kind {spec.kind.name.lower()}; only buffers may change")
    return found
