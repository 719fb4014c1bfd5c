# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Builds StableHLO text in MLIR's generic form, with reverse-mode derivatives.

Every function takes and returns `Value`s; what has a derivative leaves a closure on the tape. Only what a transformer needs.
"""
import math


class Value:
    """A tensor of the graph: its name in the text and its type."""

    def __init__(self, name, shape, dtype):
        self.name, self.shape, self.dtype = name, tuple(shape), dtype

    @property
    def type(self):
        return f"tensor<{''.join(f'{size}x' for size in self.shape)}{self.dtype}>"


def dense(numbers):
    numbers = list(numbers)
    return f"array<i64: {', '.join(map(str, numbers))}>" if numbers else "array<i64>"


class Graph:
    """One function under construction."""

    def __init__(self):
        self.lines, self.arguments, self.attributes, self.tape = [], [], [], []
        self.operations = 0
        self.scope = ""

    # Text

    def argument(self, name, shape, dtype="f32", attributes=""):
        """An argument; `name` is a path such as `p['h']['0']['kernel']`, `attributes` a dictionary in MLIR's text."""
        value = Value(f"%arg{len(self.arguments)}", shape, dtype)
        self.arguments.append((value, name))
        self.attributes.append(attributes)
        return value

    def op(self, mnemonic, operands, shape, dtype, properties="", region=""):
        value = Value(f"%{self.operations}", shape, dtype)
        self.operations += 1
        types = ", ".join(operand.type for operand in operands)
        names = ", ".join(operand.name for operand in operands)
        inner = f" <{{{properties}}}>" if properties else ""
        self.lines.append(f'    {value.name} = "stablehlo.{mnemonic}"({names}){inner}{region} : ({types}) -> {value.type} '
                          f'loc("jit(step)/{self.scope}/{mnemonic}")')
        return value

    def text(self, results, mesh="", result_attributes=()):
        """The module; `mesh` is an operation before the function, `result_attributes` has a dictionary per result."""
        arguments = ", ".join(f'{value.name}: {value.type} loc("{name}")' for value, name in self.arguments)
        inputs = ", ".join(value.type for value, _ in self.arguments)
        outputs = ", ".join(value.type for value in results)
        returned = ", ".join(value.name for value in results)
        lists = [("arg_attrs", self.attributes), ("res_attrs", result_attributes)]
        ports = "".join(f", {name} = [{', '.join(entry or '{}' for entry in entries)}]" for name, entries in lists if any(entries))
        return "\n".join([
            '"builtin.module"() <{sym_name = "jit_step"}> ({', *([mesh] if mesh else []),
            f'  "func.func"() <{{function_type = ({inputs}) -> ({outputs}), sym_name = "main", sym_visibility = "public"{ports}}}> ({{',
            f"  ^bb0({arguments}):", *self.lines, f'    "func.return"({returned}) : ({outputs}) -> ()', "  }) : () -> ()",
            "}) : () -> ()", ""])

    # Operations without derivative

    def constant(self, number, dtype="f32"):
        text = "0xFF800000" if number == -math.inf else (str(number) if dtype.startswith("i") else f"{number:.9e}")
        return self.op("constant", [], (), dtype, f"value = dense<{text}> : tensor<{dtype}>")

    def fill(self, number, shape, dtype="f32"):
        return self._broadcast(self.constant(number, dtype), (), shape)

    def iota(self, dim, shape, dtype="i32"):
        return self.op("iota", [], shape, dtype, f"iota_dimension = {dim} : i64")

    def compare(self, direction, a, b):
        kind = "SIGNED" if a.dtype.startswith("i") else "FLOAT"
        return self.op("compare", [a, b], a.shape, "i1", f"comparison_direction = #stablehlo<comparison_direction {direction}>, "
                       f"compare_type = #stablehlo<comparison_type {kind}>")

    def _broadcast(self, x, dims, shape):
        return self.op("broadcast_in_dim", [x], shape, x.dtype, f"broadcast_dimensions = {dense(dims)}")

    def _reduce(self, kind, x, dims, initial):
        start = self.constant(initial, x.dtype)
        shape = [size for dim, size in enumerate(x.shape) if dim not in dims]
        scalar = f"tensor<{x.dtype}>"
        region = (f" ({{ ^bb0(%l: {scalar}, %r: {scalar}): %o = \"stablehlo.{kind}\"(%l, %r) : ({scalar}, {scalar}) -> {scalar} "
                  f"\"stablehlo.return\"(%o) : ({scalar}) -> () }})")
        return self.op("reduce", [x, start], shape, x.dtype, f"dimensions = {dense(dims)}", region)

    def maximum_along(self, x, dims):
        """The maximum that softmax subtracts; it has no derivative."""
        return self._reduce("maximum", x, dims, -math.inf)

    # Operations with derivative

    def record(self, result, operands, backward):
        self.tape.append((result, operands, backward))
        return result

    def _unary(self, mnemonic, x, derivative):
        y = self.op(mnemonic, [x], x.shape, x.dtype)
        return self.record(y, [x], lambda g: [derivative(g, x, y)])

    def exp(self, x):
        return self._unary("exponential", x, lambda g, x, y: self._raw("multiply", g, y))

    def log(self, x):
        return self._unary("log", x, lambda g, x, y: self._raw("divide", g, x))

    def tanh(self, x):
        def derivative(g, x, y):
            one = self.fill(1.0, y.shape)
            return self._raw("multiply", g, self._raw("subtract", one, self._raw("multiply", y, y)))
        return self._unary("tanh", x, derivative)

    def rsqrt(self, x):
        def derivative(g, x, y):
            cube = self._raw("multiply", y, self._raw("multiply", y, y))
            return self._raw("multiply", g, self._raw("multiply", cube, self.fill(-0.5, y.shape)))
        return self._unary("rsqrt", x, derivative)

    def _raw(self, mnemonic, a, b):
        return self.op(mnemonic, [a, b], a.shape, a.dtype)

    def add(self, a, b):
        return self.record(self._raw("add", a, b), [a, b], lambda g: [g, g])

    def subtract(self, a, b):
        return self.record(self._raw("subtract", a, b), [a, b], lambda g: [g, self.op("negate", [g], g.shape, g.dtype)])

    def multiply(self, a, b):
        return self.record(self._raw("multiply", a, b), [a, b], lambda g: [self._raw("multiply", g, b), self._raw("multiply", g, a)])

    def divide(self, a, b):
        y = self._raw("divide", a, b)

        def backward(g):
            share = self._raw("divide", g, b)
            return [share, self.op("negate", [self._raw("multiply", share, y)], y.shape, y.dtype)]
        return self.record(y, [a, b], backward)

    def scale(self, x, number):
        factor = self.fill(number, x.shape)
        return self.record(self._raw("multiply", x, factor), [x], lambda g: [self._raw("multiply", g, factor)])

    def shift(self, x, number):
        return self.record(self._raw("add", x, self.fill(number, x.shape)), [x], lambda g: [g])

    def broadcast(self, x, dims, shape):
        rest = [dim for dim in range(len(shape)) if dim not in dims]
        return self.record(self._broadcast(x, dims, shape), [x], lambda g: [self._reduce("add", g, rest, 0.0)])

    def sum(self, x, dims):
        kept = [dim for dim in range(len(x.shape)) if dim not in dims]
        return self.record(self._reduce("add", x, dims, 0.0), [x], lambda g: [self._broadcast(g, kept, x.shape)])

    def reshape(self, x, shape):
        return self.record(self.op("reshape", [x], shape, x.dtype), [x], lambda g: [self.op("reshape", [g], x.shape, x.dtype)])

    def _transpose(self, x, dims):
        return self.op("transpose", [x], [x.shape[dim] for dim in dims], x.dtype, f"permutation = {dense(dims)}")

    def transpose(self, x, dims):
        back = sorted(range(len(dims)), key=lambda dim: dims[dim])
        return self.record(self._transpose(x, dims), [x], lambda g: [self._transpose(g, back)])

    def slice_last(self, x, start, limit):
        rank = len(x.shape)
        starts, limits = [0] * (rank - 1) + [start], list(x.shape[:-1]) + [limit]

        def backward(g):
            low, high = [0] * (rank - 1) + [start], [0] * (rank - 1) + [x.shape[-1] - limit]
            return [self.op("pad", [g, self.constant(0.0)], x.shape, x.dtype, f"edge_padding_low = {dense(low)}, "
                            f"edge_padding_high = {dense(high)}, interior_padding = {dense([0] * rank)}")]
        y = self.op("slice", [x], list(x.shape[:-1]) + [limit - start], x.dtype, f"start_indices = {dense(starts)}, "
                    f"limit_indices = {dense(limits)}, strides = {dense([1] * rank)}")
        return self.record(y, [x], backward)

    def select(self, predicate, x, number):
        """`x` where `predicate` holds, else `number`."""
        def backward(g):
            return [self.op("select", [predicate, g, self.fill(0.0, g.shape)], g.shape, g.dtype)]
        y = self.op("select", [predicate, x, self.fill(number, x.shape)], x.shape, x.dtype)
        return self.record(y, [x], backward)

    def _dot(self, a, b, batch, contract):
        shape = [a.shape[dim] for dim in batch[0]]
        shape += [size for dim, size in enumerate(a.shape) if dim not in batch[0] + contract[0]]
        shape += [size for dim, size in enumerate(b.shape) if dim not in batch[1] + contract[1]]
        lists = [("lhs_batching_dimensions", batch[0]), ("rhs_batching_dimensions", batch[1]),
                 ("lhs_contracting_dimensions", contract[0]), ("rhs_contracting_dimensions", contract[1])]
        numbers = ", ".join(f"{name} = [{', '.join(map(str, dims))}]" for name, dims in lists if dims)
        return self.op("dot_general", [a, b], shape, a.dtype, f"dot_dimension_numbers = #stablehlo.dot<{numbers}>")

    def dot(self, a, b, batch=((), ()), contract=((), ())):
        batch, contract = [list(dims) for dims in batch], [list(dims) for dims in contract]
        free = [[dim for dim in range(len(x.shape)) if dim not in batch[side] + contract[side]] for side, x in enumerate((a, b))]
        count = len(batch[0])

        def side(g, which):
            """The derivative for one operand: g against the other, then its dimensions in order."""
            other = (a, b)[1 - which]
            first = count + (len(free[0]) if which == 0 else 0)
            with_other = list(range(first, first + len(free[1 - which])))
            raw = self._dot(g, other, [list(range(count)), batch[1 - which]], [with_other, free[1 - which]])
            # Dimensions of `raw`: batching, free ones of this operand, contracted ones in the order of the other operand.
            pairs = dict(zip(contract[1 - which], contract[which]))
            order = batch[which] + free[which] + [pairs[dim] for dim in sorted(contract[1 - which])]
            dims = [order.index(dim) for dim in range(len(order))]
            return raw if dims == sorted(dims) else self._transpose(raw, dims)
        return self.record(self._dot(a, b, batch, contract), [a, b], lambda g: [side(g, 0), side(g, 1)])

    def embed(self, table, ids):
        """Rows of `table` at `ids`."""
        rank, width = len(ids.shape), table.shape[1]
        indices = self.op("reshape", [ids], list(ids.shape) + [1], ids.dtype)
        rows = self.op("gather", [table, indices], list(ids.shape) + [width], table.dtype,
                       f"dimension_numbers = #stablehlo.gather<offset_dims = [{rank}], collapsed_slice_dims = [0], "
                       f"start_index_map = [0], index_vector_dim = {rank}>, indices_are_sorted = false, slice_sizes = {dense([1, width])}")

        def backward(g):
            scalar = f"tensor<{table.dtype}>"
            region = (f" ({{ ^bb0(%l: {scalar}, %r: {scalar}): %o = \"stablehlo.add\"(%l, %r) : ({scalar}, {scalar}) -> {scalar} "
                      f"\"stablehlo.return\"(%o) : ({scalar}) -> () }})")
            return [self.op("scatter", [self.fill(0.0, table.shape), indices, g], table.shape, table.dtype,
                            f"indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [{rank}], "
                            f"inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = {rank}>, "
                            "unique_indices = false", region)]
        return self.record(rows, [table], backward)

    def gradients(self, loss, parameters):
        """Derivatives of the scalar `loss`, one per parameter, from the tape."""
        of = {loss.name: self.fill(1.0, loss.shape)}
        tape, self.tape = self.tape, []
        for result, operands, backward in reversed(tape):
            g = of.pop(result.name, None)
            if g is None:
                continue
            for operand, part in zip(operands, backward(g)):
                before = of.get(operand.name)
                of[operand.name] = part if before is None else self._raw("add", before, part)
        return [of[parameter.name] for parameter in parameters]
