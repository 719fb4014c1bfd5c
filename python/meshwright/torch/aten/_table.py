# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of operations, and what an entry of it sees of the operation that it prints."""

from __future__ import annotations

import math
from typing import Callable

import torch

from .._text import Builder, Value

ELEMENTS = {
    torch.float64: "f64", torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16", torch.bool: "i1", torch.uint8: "ui8",
    torch.uint16: "ui16", torch.uint32: "ui32", torch.uint64: "ui64", torch.int8: "i8", torch.int16: "i16", torch.int32: "i32", torch.int64: "i64",
}

# Entries by the name of an operation and its overload, as in `aten.add.Tensor`.
TABLE: dict[str, Callable] = {}

# A result that is not printed, and the operations that take it without reading it.
ABSENT = object()
TAKES_ABSENT: set[str] = set()


class Unsupported(Exception):
    """An operation, or a form of it, that has no text; the message completes "OPERATION …"."""


def operation(*names: str):
    """Registers an entry: a function from the call and the operation's arguments to its value, or to a list of its values."""

    def register(function):
        for name in names:
            assert name not in TABLE, name
            TABLE[name] = function
        return function

    return register


class Call:
    """One operation that is being printed: the builder, and the types of its results."""

    def __init__(self, builder: Builder, node, random):
        self.b = builder
        self.node = node
        self._random = random

    def results(self) -> list[tuple[tuple[int, ...], str] | None]:
        values = self.node.meta["val"]
        values = values if isinstance(values, (tuple, list)) else [values]
        return [type_of_tensor(value) if isinstance(value, torch.Tensor) else None for value in values]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.results()[0][0]

    @property
    def element(self) -> str:
        return self.results()[0][1]

    def random_bits(self, shape, element: str) -> Value:
        """Bits that no other operation of the step draws."""
        return self._random(shape, element)

    def value(self, x, shape, element: str) -> Value:
        """A tensor or a number as a tensor of that type, repeated along leading dimensions and those of size 1."""
        if not isinstance(x, Value):
            return self.b.constant(math.trunc(x) if not _takes_fractions(element) and not isinstance(x, bool) else x, shape, element)
        return self.b.broadcast(self.b.convert(x, element), shape)

    def operands(self, *values) -> list[Value]:
        """Operands in the type of the result."""
        shape, element = self.results()[0]
        return [self.value(x, shape, element) for x in values]

    def promoted(self, *values) -> list[Value]:
        """Operands in the shape of the result, and in the type to which PyTorch promotes those of the operation."""
        given = [arg.meta["val"] if isinstance(arg, torch.fx.Node) else arg for arg in self.node.args[:len(values)]]
        element = ELEMENTS[given[0].dtype] if len(given) == 1 else ELEMENTS[torch.result_type(*given)]
        return [self.value(x, self.shape, element) for x in values]


def _takes_fractions(element: str) -> bool:
    return element in ("f64", "f32", "f16", "bf16")


def type_of_tensor(value: torch.Tensor) -> tuple[tuple[int, ...], str]:
    for size in value.shape:
        if not isinstance(size, int):
            raise Unsupported(f"has a dimension of size {size}, which is known at run time alone; shapes have to be static")
    if value.dtype not in ELEMENTS:
        raise Unsupported(f"has a value of {value.dtype}, which has no type in the graph")
    return tuple(value.shape), ELEMENTS[value.dtype]


def wide(element: str) -> str:
    """The type in which PyTorch computes sums and exponentials of a type."""
    return "f32" if element in ("f16", "bf16") else element


def dims_of(dims, rank: int) -> list[int]:
    """Dimensions counted from the front; all of them where none are given."""
    dims = [dims] if isinstance(dims, int) else list(dims or [])
    return sorted(dim % rank if rank else 0 for dim in dims) if dims and rank else list(range(rank))


def dim_of(dim: int, rank: int) -> int:
    return dim % rank if rank else 0


def refuse(condition, message: str):
    if condition:
        raise Unsupported(message)
