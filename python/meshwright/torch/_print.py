# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints a traced graph: one entry of the table per operation, with the model's names and lines."""

from __future__ import annotations

import operator
import re

import torch

from ._error import ExportError
from ._text import Builder, Value, source_path
from .aten import ABSENT, TABLE, TAKES_ABSENT, Call, Unsupported, type_of_tensor

# Operations that compute nothing.
_IGNORED = {"aten._assert_tensor_metadata.default", "aten._assert_async.msg", "aten._assert_scalar.default", "aten.sym_constrain_range_for_size.default"}
_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
# PyTorch's own files and those of this exporter are not the model's.
_OTHERS = tuple(source_path(path).rpartition("/")[0] + "/" for path in (torch.__file__, __file__)) + ("<",)
# A location has at most so many lines of the model, the innermost ones.
_FRAMES = 2


def frames_of(node) -> list[tuple[str, int]]:
    """The model's lines that called an operation, the innermost first. PyTorch keeps those of methods called `forward`."""
    found = [(source_path(path), int(line)) for path, line in _FRAME.findall(node.meta.get("stack_trace") or "")]
    own = [frame for frame in found if not frame[0].startswith(_OTHERS)]
    return list(reversed(own))[:_FRAMES]


def line_of(node) -> str:
    """Where in the model an operation comes from, for a message."""
    frames = frames_of(node)
    return f"{frames[0][0]}:{frames[0][1]}: " if frames else ""


def scope_of(node, prefix: str) -> str:
    """The module that an operation belongs to, below the user's own."""
    stack = [path for path, _ in node.meta.get("nn_module_stack", {}).values()]
    path = stack[-1] if stack else ""
    # A list of modules is indexed as in `h[3]` by some versions of PyTorch; `@1` counts further calls of a module.
    path = re.sub(r"\[(?:'|\")?([^\]'\"]+)(?:'|\")?\]", r".\1", path).split("@")[0]
    path = path.removeprefix("L.self.").removeprefix("self.")
    return path.removeprefix(prefix) if path != prefix.rstrip(".") else ""


class Printer:
    """Prints the operations of a graph into a builder."""

    def __init__(self, builder: Builder, module: torch.fx.GraphModule, prefix: str):
        self.b = builder
        self.values: dict[torch.fx.Node, Value | list | None] = {}
        self.key: Value | None = None
        self._state: Value | None = None
        self._module = module
        self._prefix = prefix

    def random_bits(self, shape, element: str) -> Value:
        """Bits of the next blocks of one generator, whose first state is the key."""
        if self._state is None:
            self.key = Value("%key", (4,), "ui32")
            self._state = self.b.bitcast(self.b.reshape(self.key, [2, 2]), [2], "ui64")
        self._state, bits = self.b.random_bits(self._state, shape, element)
        return bits

    def _argument(self, value):
        if isinstance(value, torch.fx.Node):
            return self.values[value]
        if isinstance(value, (list, tuple)):
            return [self._argument(each) for each in value]
        return value

    def run(self, nodes):
        for node in nodes:
            if node.op == "get_attr":
                self.values[node] = self._attribute(node)
            elif node.op == "call_function":
                self._operation(node)

    def _attribute(self, node) -> Value:
        found = self._module
        for part in node.target.split("."):
            found = getattr(found, part)
        return constant_of(self.b, found)

    def _operation(self, node):
        name = str(node.target)
        if node.target is operator.getitem:
            self.values[node] = self.values[node.args[0]][node.args[1]]
            return
        if name in _IGNORED:
            return
        entry = TABLE.get(name)
        if entry is None:
            raise ExportError(f"{line_of(node)}operation {name} has no text; "
                              "meshwright.torch.operations() lists those that have, docs/pytorch.md says how to add one")
        self.b.location = self.b.locations.get(scope_of(node, self._prefix), name.split(".")[1] if "." in name else name, frames_of(node))
        try:
            call = Call(self.b, node, self.random_bits)
            arguments = [self._argument(value) for value in node.args]
            keywords = {key: self._argument(value) for key, value in node.kwargs.items()}
            if any(argument is ABSENT for argument in arguments) and name not in TAKES_ABSENT:
                raise Unsupported("reads the indices of a pooling, which have no text; use the values")
            value = entry(call, *arguments, **keywords)
            self._check(name, value, call.results())
        except Unsupported as problem:
            raise ExportError(f"{line_of(node)}operation {name} {problem}") from None
        self.values[node] = value

    @staticmethod
    def _check(name, value, results):
        """An entry of the table whose value is not of PyTorch's type is wrong; the text must not be."""
        for found, expected in zip(value if isinstance(value, list) else [value], results):
            if isinstance(found, Value) and expected is not None and (found.shape, found.element) != expected and 0 not in found.shape:
                raise AssertionError(f"{name} is printed as {found.type}, not as {expected}")


def constant_of(builder: Builder, tensor: torch.Tensor) -> Value:
    shape, element = type_of_tensor(tensor)
    tensor = tensor.detach().cpu()
    first = tensor.reshape(-1)[:1]
    if tensor.numel() and bool((tensor == first).all()):
        return builder.constant(first.item(), shape, element)
    return builder.constant(tensor.reshape(-1).tolist(), shape, element)
