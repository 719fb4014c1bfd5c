# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A whole training step: the graph in which PyTorch has appended its own backward pass, and the update of an optimizer."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field

import torch

from ._error import ExportError
from ._text import Builder, Value
from ._trace import PREFIX, Loss, Trace


@dataclass
class Joint(Trace):
    """A graph with the gradient of each trained parameter, by its name."""

    gradients: dict[str, torch.fx.Node] = field(default_factory=dict)


@contextlib.contextmanager
def _frozen(parameters: list[torch.nn.Parameter]):
    """No gradients of parameters that the loss does not depend on: PyTorch refuses to trace them."""
    wanting = [each for each in parameters if each.requires_grad]
    for each in wanting:
        each.requires_grad_(False)
    try:
        yield
    finally:
        for each in wanting:
            each.requires_grad_(True)


def _unlifted(loss: Loss, values) -> torch.fx.GraphModule:
    """The forward graph as a module that has the parameters it reads, each once, and no others."""
    module = torch.export.export(loss, tuple(values), strict=False).module(check_guards=False)
    first: dict[int, str] = {}
    tensors = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
    for name, tensor in tensors.items():
        first.setdefault(id(tensor), name)
    read = set()
    for node in module.graph.nodes:
        if node.op == "get_attr" and node.target in tensors:
            node.target = first[id(tensors[node.target])]
            read.add(node.target)
        elif node.op == "output":
            loss_node, = node.all_input_nodes
            node.args = ((loss_node,),)
    for name in tensors:
        if name not in read:
            owner, _, last = name.rpartition(".")
            delattr(module.get_submodule(owner), last)
    # Plain arguments and a tuple of results, as PyTorch's backward asks for.
    module.graph.set_codegen(torch.fx.graph.CodeGen())
    module.recompile()
    return module


class _Flat(torch.nn.Module):
    """A module with the tensors of another, each once, that calls the other one: for what a forward graph loses."""

    def __init__(self, loss: Loss):
        super().__init__()
        self._loss = [loss]
        self._paths = {}
        for register, tensors in ((self.register_parameter, loss.named_parameters()), (self.register_buffer, loss.named_buffers())):
            for path, tensor in tensors:
                name = f"t{len(self._paths)}"
                register(name, tensor)
                self._paths[name] = path

    def forward(self, *values):
        tensors = {path: getattr(self, name) for name, path in self._paths.items()}
        return (torch.func.functional_call(self._loss[0], tensors, values),)

    def path_of(self, name: str) -> str:
        return self._paths[name]


def trace_joint(loss: Loss, values, frozen: list[torch.nn.Parameter], own_backward: bool) -> Joint:
    """The graph of the loss and its gradients by PyTorch's derivatives. A module that has functions with a backward of their own is traced
    itself; otherwise its forward graph is, which has scopes and lines."""
    from torch._decomp import core_aten_decompositions
    from torch._functorch.aot_autograd import aot_export_module

    module = _Flat(loss) if own_backward else _unlifted(loss, values)
    # Attention by its formula, whose backward has one too.
    with _frozen(frozen), torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        try:
            graph, signature = aot_export_module(module, tuple(values), decompositions=core_aten_decompositions(), trace_joint=True, output_loss_index=0)
        except Exception as problem:  # PyTorch's own errors are of many kinds.
            raise ExportError(f'PyTorch cannot export its backward pass: {problem}; export with backward="meshwright"') from problem
    nodes = {node.name: node for node in graph.graph.nodes}
    joint = Joint(graph.graph, graph)
    path_of = module.path_of if own_backward else lambda name: name
    clean = lambda name: path_of(name).removeprefix(PREFIX)
    for placeholder, name in signature.inputs_to_parameters.items():
        joint.parameters[placeholder] = clean(name)
    for placeholder, name in signature.inputs_to_buffers.items():
        if path_of(name).startswith(PREFIX):
            joint.buffers[placeholder] = clean(name)
        else:
            # Constants of the exported graph have become buffers of it.
            joint.constants[placeholder] = module.get_buffer(name)
    joint.inputs = list(signature.user_inputs)
    joint.mutated = {clean(name): nodes[output] for output, name in signature.buffers_to_mutate.items()}
    # Results are buffers, the loss, gradients. (The signature names another one as the loss where buffers change.)
    results = next(node for node in graph.graph.nodes if node.op == "output").args[0]
    joint.loss = results[len(joint.mutated)]
    joint.gradients = {clean(name): nodes[output] for output, name in signature.backward_signature.gradients_to_parameters.items()}
    return joint


# Updates, by PyTorch's formulas: torch.optim.SGD, Adam and AdamW. A state of a parameter is zero before the first step.


def _refuse(optimizer, group, fields):
    for name in fields:
        if group.get(name):
            raise ExportError(f"{type(optimizer).__name__} with {name}={group[name]} has no text; train with an optimizer of the strategy")


class Updates:
    """Prints the update of every parameter, with its state as further arguments and results."""

    def __init__(self, builder: Builder, optimizer: torch.optim.Optimizer, names: dict[int, str]):
        kinds = {torch.optim.SGD: self._sgd, torch.optim.Adam: self._adam, torch.optim.AdamW: self._adam}
        if type(optimizer) not in kinds:
            raise ExportError(f"optimizer {type(optimizer).__name__} has no text; SGD, Adam and AdamW have, and every optimizer of a strategy with backward=\"meshwright\"")
        self.b = builder
        self.optimizer = optimizer
        self._update = kinds[type(optimizer)]
        self.groups = {names[id(parameter)]: group for group in optimizer.param_groups for parameter in group["params"] if id(parameter) in names}
        # The state of the optimizer by name, which is the kind and the parameter: its value before and after the step.
        self.before: dict[str, Value] = {}
        self.after: dict[str, Value] = {}
        self.step: Value | None = None

    def state_names(self, name: str) -> list[str]:
        """The state that the update of a parameter takes."""
        group = self.groups.get(name)
        if group is None:
            return []
        if isinstance(self.optimizer, torch.optim.SGD):
            return [f"momentum_buffer.{name}"] if group["momentum"] else []
        return [f"exp_avg.{name}", f"exp_avg_sq.{name}"]

    def print(self, name: str, parameter: Value, gradient: Value) -> Value:
        """The parameter after the step."""
        return self._update(name, self.groups[name], parameter, gradient)

    def _sgd(self, name, group, parameter, gradient):
        _refuse(self.optimizer, group, ("maximize", "nesterov", "dampening"))
        b = self.b
        if group["weight_decay"]:
            gradient = b.add(gradient, b.scale(parameter, group["weight_decay"]))
        if group["momentum"]:
            key, = self.state_names(name)
            gradient = self.after[key] = b.add(b.scale(self.before[key], group["momentum"]), gradient)
        return b.subtract(parameter, b.scale(gradient, group["lr"]))

    def _adam(self, name, group, parameter, gradient):
        _refuse(self.optimizer, group, ("maximize", "amsgrad"))
        b, (beta1, beta2) = self.b, group["betas"]
        mean, square = self.state_names(name)
        if isinstance(self.optimizer, torch.optim.AdamW) or group.get("decoupled_weight_decay"):
            parameter = b.scale(parameter, 1 - group["lr"] * group["weight_decay"])
        elif group["weight_decay"]:
            gradient = b.add(gradient, b.scale(parameter, group["weight_decay"]))
        blend = lambda old, new, beta: b.add(b.scale(old, beta), b.scale(new, 1 - beta))
        self.after[mean] = blend(self.before[mean], gradient, beta1)
        self.after[square] = blend(self.before[square], b.multiply(gradient, gradient), beta2)
        step = b.convert(self.step, parameter.element)
        correction = lambda beta: b.subtract(b.like(step, 1), b.binary("power", b.like(step, beta), step))
        everywhere = lambda scalar: b.broadcast(scalar, parameter.shape)
        root = b.divide(b.unary("sqrt", self.after[square]), everywhere(b.unary("sqrt", correction(beta2))))
        rate = b.divide(b.like(step, group["lr"]), correction(beta1))
        return b.subtract(parameter, b.divide(b.multiply(everywhere(rate), self.after[mean]), b.shift(root, group["eps"])))
