# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds the StableHLO text of one function, operation by operation, with the user's names as locations."""

from __future__ import annotations

import math
import os
import struct
from dataclasses import dataclass

# Longer lists of numbers are printed as their bytes.
_LISTED = 16

_UNSIGNED = {"ui8": "B", "ui16": "H", "ui32": "I", "ui64": "Q"}
_SIGNED = {"i8": "b", "i16": "h", "i32": "i", "i64": "q"}
_FLOATS = {"f64": "<d", "f32": "<f", "f16": "<e", "bf16": ""}


def is_float(element: str) -> bool:
    return element in _FLOATS


def width_of(element: str) -> int:
    """The bits of an element."""
    return int(element.lstrip("buif"))


@dataclass(frozen=True)
class Value:
    """An SSA value: a tensor of static shape."""

    name: str
    shape: tuple[int, ...]
    element: str
    # True if the value depends on an argument of the function.
    varies: bool = True

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def type(self) -> str:
        return type_of(self.shape, self.element)


def type_of(shape, element: str) -> str:
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element}>"


def quote(text: str) -> str:
    """A string of MLIR: printable ASCII stands for itself, every other byte is `\\XX`."""
    return '"' + "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\' else f"\\{byte:02X}" for byte in text.encode()) + '"'


def _number(value, element: str) -> str:
    """The literal of a number."""
    if element == "i1":
        return "true" if value else "false"
    if not is_float(element):
        return str(int(value))
    value = float(value)
    if not math.isfinite(value):
        one = "inf" if math.isinf(value) else "nan"
        bits = {"f64": {"inf": 0x7FF0 << 48, "nan": 0x7FF8 << 48}, "f32": {"inf": 0x7F800000, "nan": 0x7FC00000},
                "f16": {"inf": 0x7C00, "nan": 0x7E00}, "bf16": {"inf": 0x7F80, "nan": 0x7FC0}}[element][one]
        digits = width_of(element) // 4
        sign = 1 << (width_of(element) - 1) if value < 0 else 0
        return f"0x{bits | sign:0{digits}X}"
    text = repr(value)
    mantissa, e, exponent = text.partition("e")
    return (mantissa if "." in mantissa else mantissa + ".0") + e + exponent


def _nested(values: list, shape, element: str) -> str:
    if not shape:
        return _number(values[0], element)
    step = len(values) // shape[0] if shape[0] else 0
    return "[" + ", ".join(_nested(values[at * step:(at + 1) * step], shape[1:], element) for at in range(shape[0])) + "]"


def dense(values: list, shape, element: str) -> str:
    """`dense<…>` of numbers in row-major order."""
    count = math.prod(shape)
    if count == 0:
        return "dense<>"
    if len(values) == 1:
        return f"dense<{_number(values[0], element)}>"
    if count <= _LISTED or element in ("i1", "bf16"):
        return f"dense<{_nested(values, shape, element)}>"
    code = _FLOATS.get(element) or "<" + (_SIGNED.get(element) or _UNSIGNED[element])
    return 'dense<"0x' + struct.pack(f"<{count}{code[1:]}", *values).hex().upper() + '">'


class Locations:
    """The numbered locations of a text: files, call sites, scopes."""

    def __init__(self):
        self._lines: dict[str, int] = {}

    def _add(self, text: str) -> str:
        return f"#loc{self._lines.setdefault(text, len(self._lines) + 1)}"

    def get(self, scope: str, operation: str, frames: list[tuple[str, int]]) -> str:
        """The location of an operation in `scope`, whose components dots separate, with the stack of source lines, the innermost first."""
        lines = [self._add(f"loc({quote(path)}:{line}:1)") for path, line in frames]
        place = ""
        for frame in reversed(lines):
            place = self._add(f"loc(callsite({frame} at {place}))") if place else frame
        name = quote("/".join([*scope.split("."), operation]) if scope else operation)
        return self._add(f"loc({name}({place}))" if place else f"loc({name})")

    def print(self) -> str:
        return "".join(f"#loc{number} = {text}\n" for text, number in self._lines.items())


def source_path(path: str) -> str:
    """A path without what depends on the machine: below site-packages or the working directory, where it is."""
    for folder in ("site-packages", "dist-packages"):
        head, found, tail = path.rpartition(f"{os.sep}{folder}{os.sep}")
        if found:
            return tail
    here = os.getcwd() + os.sep
    return path[len(here):] if path.startswith(here) else path


class Builder:
    """Appends operations to the body of `@main`. Shapes of results are computed here, and nowhere else."""

    def __init__(self):
        self.locations = Locations()
        self.location = "#loc"
        self._lines: list[str] = []
        self._count = 0
        self._constants: dict[tuple, Value] = {}

    # Printing

    def _emit(self, head: str, operands: list[Value], results: list[tuple[tuple, str]], tail: str = "", varies: bool | None = None):
        """Appends `head : types`, and returns the values of the results."""
        name = f"%{self._count}"
        self._count += 1
        varies = any(value.varies for value in operands) if varies is None else varies
        values = [Value(name if len(results) == 1 else f"{name}#{index}", tuple(shape), element, varies)
                  for index, (shape, element) in enumerate(results)]
        types = ", ".join(value.type for value in values)
        inputs = ", ".join(value.type for value in operands)
        count = "" if len(results) == 1 else f":{len(results)}"
        types = types if all(value.type == types for value in operands) else f"({inputs}) -> {types if len(results) == 1 else f'({types})'}"
        self._lines.append(f"    {name}{count} = {head}{tail} : {types} loc({self.location})\n")
        return values

    def _one(self, head: str, operands: list[Value], shape, element: str, tail: str = "") -> Value:
        return self._emit(head, operands, [(shape, element)], tail)[0]

    def _body(self, elements: list[str], lines: list[tuple[str, str]]) -> str:
        """A region whose arguments %a0, %a1, … are scalars of `elements`, and whose lines are texts with types."""
        arguments = ", ".join(f"%a{index}: tensor<{element}>" for index, element in enumerate(elements))
        return " ({\n    ^bb0(" + arguments + "):\n" + "".join(f"      {text} : {types}\n" for text, types in lines) + "    })"

    def _combiner(self, kind: str, element: str) -> str:
        return self._body([element] * 2, [(f"%r = stablehlo.{kind} %a0, %a1", f"tensor<{element}>"),
                                          ("stablehlo.return %r", f"tensor<{element}>")])

    def print(self, name: str, arguments: list[tuple[Value, str, str]], results: list[tuple[Value, str]]) -> str:
        """The module. Arguments have their locations and attributes, results their names."""
        inputs = ", ".join(f"{value.name}: {value.type}{' {' + more + '}' if more else ''} loc({quote(path)})" for value, path, more in arguments)
        outputs = ", ".join(f"{value.type} {{jax.result_info = {quote('result.' + path)}}}" for value, path in results)
        values = ", ".join(value.name for value, _ in results)
        types = ", ".join(value.type for value, _ in results)
        return (f"#loc = loc(unknown)\nmodule @{name} {{\n  func.func public @main({inputs}) -> ({outputs}) {{\n" + "".join(self._lines) +
                f"    return {values} : {types} loc(#loc)\n  }} loc(#loc)\n}} loc(#loc)\n" + self.locations.print())

    # Constants

    def constant(self, values, shape, element: str) -> Value:
        """A tensor of one number everywhere, or of all its numbers in row-major order. Equal constants are one operation."""
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        text = f"stablehlo.constant {dense(values, shape, element)}"
        key = text, tuple(shape), element
        if key not in self._constants:
            name = f"%{self._count}"
            self._count += 1
            self._lines.append(f"    {name} = {text} : {type_of(shape, element)} loc(#loc)\n")
            self._constants[key] = Value(name, tuple(shape), element, False)
        return self._constants[key]

    def like(self, x: Value, number) -> Value:
        return self.constant(number, x.shape, x.element)

    def iota(self, shape, dim: int, element: str) -> Value:
        return self._emit_plain(f"stablehlo.iota dim = {dim}", shape, element)

    def _emit_plain(self, head: str, shape, element: str) -> Value:
        name = f"%{self._count}"
        self._count += 1
        self._lines.append(f"    {name} = {head} : {type_of(shape, element)} loc({self.location})\n")
        return Value(name, tuple(shape), element, False)

    # Elementwise operations

    def unary(self, name: str, x: Value) -> Value:
        """An operation of StableHLO, or of CHLO where `name` begins with `chlo.`."""
        return self._one(f"{name if '.' in name else 'stablehlo.' + name} {x.name}", [x], x.shape, x.element)

    def binary(self, name: str, x: Value, y: Value) -> Value:
        return self._one(f"stablehlo.{name} {x.name}, {y.name}", [x, y], x.shape, x.element)

    def add(self, x, y): return self.binary("add", x, y)
    def subtract(self, x, y): return self.binary("subtract", x, y)
    def multiply(self, x, y): return self.binary("multiply", x, y)
    def divide(self, x, y): return self.binary("divide", x, y)
    def scale(self, x, number): return x if number == 1 else self.multiply(x, self.like(x, number))
    def shift(self, x, number): return x if number == 0 else self.add(x, self.like(x, number))

    def compare(self, direction: str, x: Value, y: Value) -> Value:
        kind = "FLOAT" if is_float(x.element) else "UNSIGNED" if x.element == "i1" or x.element in _UNSIGNED else "SIGNED"
        return self._one(f"stablehlo.compare {direction}, {x.name}, {y.name}, {kind}", [x, y], x.shape, "i1")

    def is_finite(self, x: Value) -> Value:
        return self._one(f"stablehlo.is_finite {x.name}", [x], x.shape, "i1")

    def select(self, predicate: Value, x: Value, y: Value) -> Value:
        return self._one(f"stablehlo.select {predicate.name}, {x.name}, {y.name}", [predicate, x, y], x.shape, x.element)

    def convert(self, x: Value, element: str) -> Value:
        """Converts as PyTorch does: truth is being other than zero."""
        if x.element == element:
            return x
        if element == "i1":
            return self.compare("NE", x, self.like(x, 0))
        return self._one(f"stablehlo.convert {x.name}", [x], x.shape, element)

    def bitcast(self, x: Value, shape, element: str) -> Value:
        return self._one(f"stablehlo.bitcast_convert {x.name}", [x], shape, element)

    def stop_gradient(self, x: Value) -> Value:
        """The value without a derivative: that of its bits is zero."""
        if not is_float(x.element) or not x.varies:
            return x
        return self.bitcast(self.bitcast(x, x.shape, f"i{width_of(x.element)}"), x.shape, x.element)

    # Layout

    def reshape(self, x: Value, shape) -> Value:
        return x if x.shape == tuple(shape) else self._one(f"stablehlo.reshape {x.name}", [x], shape, x.element)

    def broadcast(self, x: Value, shape, dims=None) -> Value:
        """Dimension i of `x` becomes dimension `dims[i]`; by default the last ones, as PyTorch broadcasts."""
        dims = range(len(shape) - x.rank, len(shape)) if dims is None else dims
        if x.shape == tuple(shape) and list(dims) == list(range(x.rank)):
            return x
        return self._one(f"stablehlo.broadcast_in_dim {x.name}, dims = {list(dims)}", [x], shape, x.element)

    def transpose(self, x: Value, dims) -> Value:
        dims = list(dims)
        if dims == list(range(x.rank)):
            return x
        return self._one(f"stablehlo.transpose {x.name}, dims = {dims}", [x], [x.shape[dim] for dim in dims], x.element)

    def slice(self, x: Value, starts, limits, strides=None) -> Value:
        strides = strides or [1] * x.rank
        shape = [max(0, -(-(limit - start) // stride)) for start, limit, stride in zip(starts, limits, strides)]
        if tuple(shape) == x.shape:
            return x
        ranges = ", ".join(f"{start}:{limit}" + (f":{stride}" if stride != 1 else "") for start, limit, stride in zip(starts, limits, strides))
        return self._one(f"stablehlo.slice {x.name} [{ranges}]", [x], shape, x.element)

    def slice_dim(self, x: Value, dim: int, start: int, limit: int, stride: int = 1) -> Value:
        starts, limits, strides = [0] * x.rank, list(x.shape), [1] * x.rank
        starts[dim], limits[dim], strides[dim] = start, max(start, limit), stride
        return self.slice(x, starts, limits, strides)

    def pad(self, x: Value, number, low, high, interior=None) -> Value:
        interior = interior or [0] * x.rank
        if not any([*low, *high, *interior]):
            return x
        shape = [size + a + b + max(0, size - 1) * c for size, a, b, c in zip(x.shape, low, high, interior)]
        value = self.constant(number, (), x.element)
        return self._one(f"stablehlo.pad {x.name}, {value.name}, low = {list(low)}, high = {list(high)}, interior = {list(interior)}",
                         [x, value], shape, x.element)

    def concatenate(self, values: list[Value], dim: int) -> Value:
        if len(values) == 1:
            return values[0]
        shape = list(values[0].shape)
        shape[dim] = sum(value.shape[dim] for value in values)
        return self._one(f"stablehlo.concatenate {', '.join(value.name for value in values)}, dim = {dim}", values, shape, values[0].element)

    def reverse(self, x: Value, dims) -> Value:
        return self._one(f"stablehlo.reverse {x.name}, dims = {list(dims)}", [x], x.shape, x.element)

    # Reductions and products

    def reduce(self, kind: str, x: Value, dims, keep: bool = False) -> Value:
        """Sum (`add`), product, `maximum`, `minimum`, `and`, `or` over `dims`."""
        dims = sorted(dims)
        shape = [size for dim, size in enumerate(x.shape) if dim not in dims]
        result = x if not dims else self._reduce(kind, x, dims, shape)
        return self.reshape(result, [1 if dim in dims else size for dim, size in enumerate(x.shape)]) if keep else result

    def _reduce(self, kind: str, x: Value, dims, shape) -> Value:
        init = self.constant(neutral(kind, x.element), (), x.element)
        return self._one(f"stablehlo.reduce({x.name} init: {init.name}) applies stablehlo.{kind} across dimensions = {dims}", [x, init], shape, x.element)

    def arg_reduce(self, kind: str, x: Value, dim: int) -> tuple[Value, Value]:
        """The largest (`maximum`) or smallest element along a dimension and its index, an i64: the first of equal ones, NaN before all."""
        wins = "GT" if kind == "maximum" else "LT"
        index = self.iota(x.shape, dim, "i32")
        inits = [self.constant(neutral(kind, x.element), (), x.element), self.constant(0, (), "i32")]
        shape = [size for at, size in enumerate(x.shape) if at != dim]
        t, comparison = f"tensor<{x.element}>", "FLOAT" if is_float(x.element) else "SIGNED"
        both, pair = f"({t}, {t}) -> tensor<i1>", "(tensor<i32>, tensor<i32>) -> tensor<i1>"
        lines = [(f"%b = stablehlo.compare {wins}, %v, %w, {comparison}", both), (f"%n = stablehlo.compare NE, %v, %v, {comparison}", both),
                 ("%o = stablehlo.or %b, %n", "tensor<i1>"), (f"%e = stablehlo.compare EQ, %v, %w, {comparison}", both),
                 ("%l = stablehlo.compare LT, %i, %j, SIGNED", pair), ("%t = stablehlo.and %e, %l", "tensor<i1>"),
                 ("%c = stablehlo.or %o, %t", "tensor<i1>"), ("%x = stablehlo.select %o, %v, %w", f"tensor<i1>, {t}"),
                 ("%y = stablehlo.select %c, %i, %j", "tensor<i1>, tensor<i32>"), ("stablehlo.return %x, %y", f"{t}, tensor<i32>")]
        operands = [x, index, *inits]
        name = f"%{self._count}"
        self._count += 1
        results = [Value(f"{name}#0", tuple(shape), x.element, x.varies), Value(f"{name}#1", tuple(shape), "i32", x.varies)]
        self._lines.append(
            f"    {name}:2 = stablehlo.reduce({x.name} init: {inits[0].name}), ({index.name} init: {inits[1].name}) across dimensions = [{dim}] : "
            f"({', '.join(value.type for value in operands)}) -> ({', '.join(value.type for value in results)})\n"
            f"     reducer(%v: {t}, %w: {t}) (%i: tensor<i32>, %j: tensor<i32>) {{\n" + "".join(f"      {text} : {types}\n" for text, types in lines) +
            f"    }} loc({self.location})\n")
        return results[0], self.convert(results[1], "i64")

    def dot(self, x: Value, y: Value, contract, batch=((), ())) -> Value:
        """Contracts dimensions of `x` with those of `y`; the result has the batch dimensions, then those left of x and y."""
        left = [size for dim, size in enumerate(x.shape) if dim not in contract[0] and dim not in batch[0]]
        right = [size for dim, size in enumerate(y.shape) if dim not in contract[1] and dim not in batch[1]]
        batches = f", batching_dims = {list(batch[0])} x {list(batch[1])}" if batch[0] else ""
        return self._one(f"stablehlo.dot_general {x.name}, {y.name}{batches}, contracting_dims = {list(contract[0])} x {list(contract[1])}",
                         [x, y], [*(x.shape[dim] for dim in batch[0]), *left, *right], x.element)

    def convolution(self, x: Value, weight: Value, shape, stride, low, high, base, window, groups: int = 1, *, names=("bf", "oi", "bf"),
                    reverse: bool = False, batch_groups: int = 1) -> Value:
        """A convolution. `names` are the first two dimensions of images (batch, features), weights (outputs, inputs) and results."""
        spatial = ", ".join(str(dim) for dim in range(len(stride)))
        images, kernel, results = (f"[{first}, {second}, {spatial}]" for first, second in names)
        flips = ", ".join(["true" if reverse else "false"] * len(stride))
        pad = ", ".join(f"[{a}, {b}]" for a, b in zip(low, high))
        return self._one(
            f"stablehlo.convolution({x.name}, {weight.name}) dim_numbers = {images}x{kernel}->{results}, "
            f"window = {{stride = {list(stride)}, pad = [{pad}], lhs_dilate = {list(base)}, rhs_dilate = {list(window)}, reverse = [{flips}]}} "
            f"{{batch_group_count = {batch_groups} : i64, feature_group_count = {groups} : i64}}", [x, weight], shape, x.element)

    # Windows, positions, orders

    def reduce_window(self, kind: str, x: Value, sizes, strides, low, high, dilations=None, init=None) -> Value:
        dilations = dilations or [1] * x.rank
        shape = [max(0, (size + a + b - (d * (w - 1) + 1)) // s + 1) for size, a, b, w, s, d in zip(x.shape, low, high, sizes, strides, dilations)]
        start = self.constant(neutral(kind, x.element) if init is None else init, (), x.element)
        numbers = lambda values: "array<i64: " + ", ".join(map(str, values)) + ">"
        pad = "[" + ", ".join(f"[{a}, {b}]" for a, b in zip(low, high)) + "]"
        return self._one(
            f'"stablehlo.reduce_window"({x.name}, {start.name}) <{{base_dilations = {numbers([1] * x.rank)}, padding = dense<{pad}> : tensor<{x.rank}x2xi64>, '
            f"window_dilations = {numbers(dilations)}, window_dimensions = {numbers(sizes)}, window_strides = {numbers(strides)}}}>",
            [x, start], shape, x.element, self._combiner(kind, x.element))

    def select_and_scatter(self, x: Value, source: Value, sizes, strides, low, high) -> Value:
        """Adds each element of `source` to the largest of its window in `x`, the first of equal ones."""
        zero, t = self.constant(0, (), x.element), f"tensor<{x.element}>"
        numbers = lambda values: "array<i64: " + ", ".join(map(str, values)) + ">"
        pad = "[" + ", ".join(f"[{a}, {b}]" for a, b in zip(low, high)) + "]"
        kind = "FLOAT" if is_float(x.element) else "SIGNED"
        select = self._body([x.element] * 2, [(f"%r = stablehlo.compare GE, %a0, %a1, {kind}", f"({t}, {t}) -> tensor<i1>"), ("stablehlo.return %r", "tensor<i1>")])
        scatter = self._combiner("add", x.element)
        return self._one(
            f'"stablehlo.select_and_scatter"({x.name}, {source.name}, {zero.name}) <{{padding = dense<{pad}> : tensor<{x.rank}x2xi64>, '
            f"window_dimensions = {numbers(sizes)}, window_strides = {numbers(strides)}}}>", [x, source, zero], x.shape, x.element,
            f"{select.removesuffix(')')},{scatter.removeprefix(' (')}")

    def gather(self, x: Value, positions: Value, shape, offset, collapsed, index_map, sizes, batch=((), ())) -> Value:
        """Reads boxes at `positions`, whose last dimension is the vector of starts."""
        fields = [f"offset_dims = {list(offset)}", f"collapsed_slice_dims = {list(collapsed)}"]
        if batch[0]:
            fields += [f"operand_batching_dims = {list(batch[0])}", f"start_indices_batching_dims = {list(batch[1])}"]
        fields += [f"start_index_map = {list(index_map)}", f"index_vector_dim = {positions.rank - 1}"]
        return self._one(
            f'"stablehlo.gather"({x.name}, {positions.name}) <{{dimension_numbers = #stablehlo.gather<{", ".join(fields)}>, indices_are_sorted = false, '
            f"slice_sizes = array<i64: {', '.join(map(str, sizes))}>}}>", [x, positions], shape, x.element)

    def scatter(self, kind: str | None, x: Value, positions: Value, updates: Value, windows, inserted, index_map, batch=((), ())) -> Value:
        """Combines `updates` into `x`; without a kind they replace its elements."""
        fields = [f"update_window_dims = {list(windows)}", f"inserted_window_dims = {list(inserted)}"]
        if batch[0]:
            fields += [f"input_batching_dims = {list(batch[0])}", f"scatter_indices_batching_dims = {list(batch[1])}"]
        fields += [f"scatter_dims_to_operand_dims = {list(index_map)}", f"index_vector_dim = {positions.rank - 1}"]
        body = (self._combiner(kind, x.element) if kind else
                self._body([x.element] * 2, [("stablehlo.return %a1", f"tensor<{x.element}>")]))
        return self._one(
            f'"stablehlo.scatter"({x.name}, {positions.name}, {updates.name}) <{{indices_are_sorted = false, scatter_dimension_numbers = '
            f"#stablehlo.scatter<{', '.join(fields)}>, unique_indices = false}}>", [x, positions, updates], x.shape, x.element, body)

    def sort(self, x: Value, dim: int, descending: bool) -> tuple[Value, Value]:
        """The elements in order, and the i64 positions from which they come. Stable; NaN is the largest."""
        index = self.iota(x.shape, dim, "i64")
        kind = "FLOAT" if is_float(x.element) else "SIGNED"
        body = self._body([x.element] * 2 + ["i64"] * 2,
                          [(f"%r = stablehlo.compare {'GT' if descending else 'LT'}, %a0, %a1, {kind}", f"(tensor<{x.element}>, tensor<{x.element}>) -> tensor<i1>"),
                           ("stablehlo.return %r", "tensor<i1>")])
        values = self._emit(f'"stablehlo.sort"({x.name}, {index.name}) <{{dimension = {dim} : i64, is_stable = true}}>', [x, index],
                            [(x.shape, x.element), (x.shape, "i64")], body)
        return values[0], values[1]

    def random_bits(self, state: Value, shape, element: str) -> tuple[Value, Value]:
        """The next state of a generator, whose state is a key and a counter, and bits."""
        values = self._emit(f"stablehlo.rng_bit_generator {state.name}, algorithm = PHILOX", [state], [(state.shape, state.element), (shape, element)])
        return values[0], values[1]


def neutral(kind: str, element: str):
    """The number that a reduction begins with."""
    if kind == "add" or kind == "or":
        return 0
    if kind == "multiply":
        return 1
    if element == "i1" or kind == "and":
        return (1 if element == "i1" else -1) if kind in ("and", "minimum") else 0
    if is_float(element):
        return -math.inf if kind == "maximum" else math.inf
    width = width_of(element)
    low, high = (0, 2**width - 1) if element.startswith("u") else (-2**(width - 1), 2**(width - 1) - 1)
    return low if kind == "maximum" else high
