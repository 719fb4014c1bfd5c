# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One case per operation of net and type: the text of the operation, its inputs, and how near its result has to be."""
import numpy as np

NUMPY = {"f32": "f4", "f64": "f8", "i1": "?", "i8": "i1", "i16": "i2", "i32": "i4", "i64": "i8", "ui8": "u1",
         "ui16": "u2", "ui32": "u4", "ui64": "u8"}


class Cases:
    """A function of many operations: each case has inputs of its own and one or two results."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.arguments, self.lines, self.results, self.feed, self.tolerance = [], [], [], {}, {}
        self.taken = 0

    def array(self, shape, kind, low=-3.0, high=3.0):
        if kind == "i1":
            return self.random.integers(0, 2, shape).astype("?")
        if kind[0] in "iu":
            info = np.iinfo(NUMPY[kind])
            return self.random.integers(max(int(low), info.min), min(int(high), info.max) + 1, shape).astype(NUMPY[kind])
        return self.random.uniform(low, high, shape).astype("f4" if kind in ("bf16", "f16") else NUMPY[kind])

    def input(self, value, kind):
        """An argument; 16-bit floats come in as f32 and are converted."""
        name = f"in{len(self.arguments)}"
        fed = "f32" if kind in ("bf16", "f16") else kind
        self.arguments.append(f'%{name}: {self.type(value.shape, fed)} {{net.name = "{name}"}}')
        self.feed[name] = value
        if fed == kind:
            return f"%{name}"
        self.lines.append(f"%c{name} = net.convert %{name} : {self.type(value.shape, fed)} -> {self.type(value.shape, kind)}")
        return f"%c{name}"

    @staticmethod
    def type(shape, kind):
        return "tensor<" + "".join(f"{size}x" for size in shape) + kind + ">"

    def add(self, name, text, shapes, tolerance):
        """`text` computes %0 (and %1, …), of the types in `shapes`."""
        names = [f"%r{self.taken + index}" for index in range(len(shapes))]
        self.lines.append(f"{', '.join(names)} = {text}")
        for index, ((shape, kind), result) in enumerate(zip(shapes, names)):
            label = name if len(shapes) == 1 else f"{name}.{index}"
            if kind in ("bf16", "f16"):
                self.lines.append(f"{result}w = net.convert {result} : {self.type(shape, kind)} -> {self.type(shape, 'f32')}")
                result, kind = result + "w", "f32"
            self.results.append((label, result, self.type(shape, kind)))
            self.tolerance[label] = tolerance
        self.taken += len(shapes)

    def text(self):
        results = ", ".join(f'{kind} {{net.name = "{label}"}}' for label, _, kind in self.results)
        body = "\n  ".join(self.lines)
        values = ", ".join(value for _, value, _ in self.results)
        types = ", ".join(kind for _, _, kind in self.results)
        return f"func.func @step({', '.join(self.arguments)}) -> ({results}) {{\n  {body}\n  return {values} : {types}\n}}\n"


def elementwise(cases, shape=(5, 37)):
    kind_tolerance = {"f32": 2e-6, "f64": 1e-14, "bf16": 8e-3, "f16": 1e-3}
    domains = {"log": (0.01, 9), "log_plus_one": (-0.9, 9), "sqrt": (0, 9), "rsqrt": (0.01, 9), "tan": (-1.4, 1.4), "acos": (-1, 1),
               "acosh": (1, 9), "asin": (-1, 1), "atanh": (-0.98, 0.98), "digamma": (2, 12), "lgamma": (2.5, 12)}
    floats = ("abs acos acosh asin asinh atanh cbrt ceil cosh cosine digamma erf erfc exponential exponential_minus_one floor lgamma log log_plus_one logistic negate "
              "round_nearest_even rsqrt sign sine sinh sqrt tan tanh").split()
    for kind in ("f32", "f64", "bf16", "f16"):
        for op in floats:
            x = cases.input(cases.array(shape, kind, *domains.get(op, (-6, 6))), kind)
            cases.add(f"{op}.{kind}", f"net.{op} {x} : {cases.type(shape, kind)}", [(shape, kind)], kind_tolerance[kind])
        for op in "add atan2 divide maximum minimum multiply power remainder subtract".split():
            low = 0.1 if op == "power" else -4
            x, y = (cases.input(cases.array(shape, kind, low, 4), kind) for _ in range(2))
            cases.add(f"{op}.{kind}", f"net.{op} {x}, {y} : {cases.type(shape, kind)}", [(shape, kind)], kind_tolerance[kind])
        special = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 2.5], "f8" if kind == "f64" else "f4")
        left, right = (cases.input(np.ascontiguousarray(a), kind) for a in np.broadcast_arrays(special[:, None], special))
        square = (8, 8)
        for op in ("maximum", "minimum"):
            cases.add(f"{op}.special.{kind}", f"net.{op} {left}, {right} : {cases.type(square, kind)}", [(square, kind)], 0)
        for op in ("eq", "ne", "lt", "le", "gt", "ge"):
            for order in ("", " total_order"):
                cases.add(f"compare.{op}{order.strip()}.{kind}", f"net.compare {op}, {left}, {right}{order} : "
                          f"{cases.type(square, kind)} -> {cases.type(square, 'i1')}", [(square, "i1")], 0)
        cases.add(f"is_finite.{kind}", f"net.is_finite {left} : {cases.type(square, kind)} -> {cases.type(square, 'i1')}",
                  [(square, "i1")], 0)
        for exponent, mantissa in ((3, 2), (5, 1), (8, 7), (11, 0), (2, 52)):
            x = cases.input(np.ldexp(cases.array(shape, kind), cases.random.integers(-9, 9, shape)).astype("f8" if kind == "f64" else "f4"), kind)
            for label, value, where in (("", x, shape), (".special", left, square)):
                cases.add(f"reduce_precision.e{exponent}m{mantissa}{label}.{kind}", f"net.reduce_precision {value} exponent = {exponent} "
                          f"mantissa = {mantissa} : {cases.type(where, kind)}", [(where, kind)], 0)
        bits = {"f64": "ui64", "f32": "i32"}.get(kind, "ui16")
        x = cases.input(cases.array(shape, kind), kind)
        cases.add(f"bitcast_convert.{kind}.{bits}", f"net.bitcast_convert {x} : {cases.type(shape, kind)} -> {cases.type(shape, bits)}",
                  [(shape, bits)], 0)
        # Positive numbers as integers, whose bits f16 and bf16 have too.
        x = cases.input(cases.array(shape, bits, 0, 0x3c00), bits)
        cases.add(f"bitcast_convert.{bits}.{kind}", f"net.bitcast_convert {x} : {cases.type(shape, bits)} -> {cases.type(shape, kind)}",
                  [(shape, kind)], 0)
        for target in ("i32", "ui8", "i64", "i1"):
            cases.add(f"convert.{kind}.{target}", f"net.convert {left} : {cases.type(square, kind)} -> {cases.type(square, target)}",
                      [(square, target)], 0)


def integers(cases, shape=(3, 21)):
    for kind in ("i8", "i16", "i32", "i64", "ui8", "ui32", "ui64", "i1"):
        low = 0 if kind[0] == "u" else -40
        x, y = (cases.input(cases.array(shape, kind, low, 40), kind) for _ in range(2))
        binary = "add and divide maximum minimum multiply or power remainder shift_left shift_right_arithmetic shift_right_logical subtract xor"
        if kind == "i1":
            binary = "add and maximum minimum multiply or xor"
        for op in binary.split():
            right = y
            if op in ("power", "shift_left", "shift_right_arithmetic", "shift_right_logical"):
                right = cases.input(cases.array(shape, kind, 0 if op != "power" or low == 0 else -3, 70 if op != "power" else 5), kind)
            cases.add(f"{op}.{kind}", f"net.{op} {x}, {right} : {cases.type(shape, kind)}", [(shape, kind)], 0)
        unary = "not" if kind == "i1" else "abs negate not sign"
        for op in unary.split():
            cases.add(f"{op}.{kind}", f"net.{op} {x} : {cases.type(shape, kind)}", [(shape, kind)], 0)
        for op in ("eq", "lt", "ge"):
            cases.add(f"compare.{op}.{kind}", f"net.compare {op}, {x}, {y} : {cases.type(shape, kind)} -> {cases.type(shape, 'i1')}",
                      [(shape, "i1")], 0)
        for target in ("f32", "f64", "i64", "ui8", "i1"):
            if target != kind:
                cases.add(f"convert.{kind}.{target}", f"net.convert {x} : {cases.type(shape, kind)} -> {cases.type(shape, target)}",
                          [(shape, target)], 0)
    predicate = cases.input(cases.array(shape, "i1"), "i1")
    for kind in ("f32", "i32", "i1"):
        x, y = (cases.input(cases.array(shape, kind), kind) for _ in range(2))
        cases.add(f"select.{kind}", f"net.select {predicate}, {x}, {y} : {cases.type(shape, 'i1')}, {cases.type(shape, kind)}",
                  [(shape, kind)], 0)


def layout(cases):
    for kind in ("f32", "i64", "i1"):
        shape = (4, 6, 35)
        x = cases.input(cases.array(shape, kind, -99, 99), kind)
        kept = cases.type(shape, kind)
        cases.add(f"transpose.{kind}", f"net.transpose {x} dims = [2, 0, 1] : {kept} -> {cases.type((35, 4, 6), kind)}",
                  [((35, 4, 6), kind)], 0)
        cases.add(f"reshape.{kind}", f"net.reshape {x} : {kept} -> {cases.type((7, 24, 5), kind)}", [((7, 24, 5), kind)], 0)
        cases.add(f"broadcast.{kind}", f"net.broadcast {x} dims = [0, 2, 3] : {kept} -> {cases.type((4, 3, 6, 35), kind)}",
                  [((4, 3, 6, 35), kind)], 0)
        cases.add(f"reverse.{kind}", f"net.reverse {x} dims = [0, 2] : {kept}", [(shape, kind)], 0)
        cases.add(f"slice.{kind}", f"net.slice {x} starts = [1, 0, 2] limits = [4, 6, 33] steps = [2, 1, 3] : {kept} -> "
                  f"{cases.type((2, 6, 11), kind)}", [((2, 6, 11), kind)], 0)
        fill = cases.input(cases.array((), kind), kind)
        cases.add(f"pad.{kind}", f"net.pad {x}, {fill} low = [1, 0, 2] high = [0, 2, -3] interior = [0, 1, 2] : {kept}, "
                  f"{cases.type((), kind)} -> {cases.type((5, 13, 102), kind)}", [((5, 13, 102), kind)], 0)
        cases.add(f"pad.cut.{kind}", f"net.pad {x}, {fill} low = [-1, 0, -2] high = [0, 1, 4] interior = [0, 0, 0] : {kept}, "
                  f"{cases.type((), kind)} -> {cases.type((3, 7, 37), kind)}", [((3, 7, 37), kind)], 0)
        y = cases.input(cases.array((4, 6, 20), kind, -99, 99), kind)
        cases.add(f"concatenate.{kind}", f"net.concatenate {x}, {y}, {x} dim = 2 : {kept}, {cases.type((4, 6, 20), kind)}, {kept} -> "
                  f"{cases.type((4, 6, 90), kind)}", [((4, 6, 90), kind)], 0)
    for kind in ("f32", "f64", "bf16", "i32", "ui8"):
        cases.add(f"iota.{kind}", f"net.iota dim = 1 : {cases.type((3, 19, 2), kind)}", [((3, 19, 2), kind)], 0)
        values = "[" + ", ".join(str(v) + ("" if kind[0] in "iu" else ".5") for v in range(7)) + "]"
        cases.add(f"constant.{kind}", f"net.constant dense<{values}> : {cases.type((7,), kind)}", [((7,), kind)], 0)
        number = "3" if kind[0] in "iu" else "0.1"
        cases.add(f"constant.splat.{kind}", f"net.constant dense<{number}> : {cases.type((5, 18), kind)}", [((5, 18), kind)], 0)


def reductions(cases):
    tolerance = {"f32": 2e-6, "f64": 1e-14, "bf16": 8e-3, "f16": 1e-3}
    shape = (4, 5, 6, 39)
    for kind in ("f32", "f64", "bf16", "f16", "i32", "ui8", "i1"):
        value = cases.array(shape, kind, -2, 2) if kind != "ui8" else cases.array(shape, kind, 0, 3)
        x = cases.input(value, kind)
        kinds = ("and", "or") if kind == "i1" else ("sum", "product", "max", "min") + (("and", "or") if kind[0] in "iu" else ())
        for op in kinds:
            for dims in ([3], [2, 3], [0], [0, 1], [1, 2], [0, 3], [0, 1, 2, 3], []):
                left = tuple(size for dim, size in enumerate(shape) if dim not in dims)
                near = tolerance.get(kind, 0) * (30 if op in ("sum", "product") else 0)
                cases.add(f"reduce.{op}.{dims}.{kind}".replace(" ", ""),
                          f"net.reduce {op} {x} dims = {dims} : {cases.type(shape, kind)} -> {cases.type(left, kind)}",
                          [(left, kind)], near)
    special = cases.array((9, 20), "f32")
    special[2, 3] = special[2, 7] = np.nan
    special[4, :] = 1.5
    special[5, 6] = np.inf
    for kind, value in (("f32", special), ("i32", cases.array((9, 20), "i32", -5, 5)), ("ui8", cases.array((9, 20), "ui8", 0, 255))):
        x = cases.input(value, kind)
        for op in ("max", "min"):
            for dim, left in ((0, (20,)), (1, (9,))):
                cases.add(f"arg_reduce.{op}.{dim}.{kind}", f"net.arg_reduce {op} {x} dim = {dim} : {cases.type((9, 20), kind)} -> "
                          f"{cases.type(left, kind)}, {cases.type(left, 'i32')}", [(left, kind), (left, "i32")], 0)


def products(cases):
    tolerance = {"f32": 1e-5, "f64": 1e-14, "bf16": 2e-2, "i32": 0, "ui8": 0}
    for kind in tolerance:
        value = lambda shape: cases.input(cases.array(shape, kind, 0 if kind == "ui8" else -3, 3), kind)
        for name, lhs, rhs, batch, contract in (
                ("plain", (9, 17), (17, 33), ([], []), ([1], [0])), ("transposed", (17, 9), (33, 17), ([], []), ([0], [1])),
                ("vector", (17,), (17,), ([], []), ([0], [0])), ("outer", (5,), (7,), ([], []), ([], [])),
                ("batch", (2, 3, 8, 16), (2, 3, 16, 8), ([0, 1], [0, 1]), ([3], [2])),
                ("heads", (2, 8, 3, 16), (2, 8, 3, 16), ([0, 2], [0, 2]), ([3], [3])),
                ("inside", (4, 5, 6), (6, 4, 7), ([], []), ([0, 2], [1, 0])),
                ("row", (1, 16), (16, 5), ([], []), ([1], [0])), ("column", (6, 16), (16, 1), ([], []), ([1], [0]))):
            x, y = value(lhs), value(rhs)
            free = [size for dim, size in enumerate(lhs) if dim not in batch[0] + contract[0]]
            free += [size for dim, size in enumerate(rhs) if dim not in batch[1] + contract[1]]
            shape = tuple([lhs[dim] for dim in batch[0]] + free)
            cases.add(f"dot.{name}.{kind}", f"net.dot {x}, {y} batch = {batch[0]} x {batch[1]} contract = {contract[0]} x {contract[1]} : "
                      f"{cases.type(lhs, kind)}, {cases.type(rhs, kind)} -> {cases.type(shape, kind)}", [(shape, kind)], tolerance[kind])


def indexing(cases):
    table, ids = (11, 34), (3, 5)
    for kind in ("f32", "f64", "i32", "bf16"):
        for index in ("i32", "i64", "ui8"):
            x = cases.input(cases.array(table, kind, -9, 9), kind)
            positions = cases.input(cases.array(ids + (1,), index, -3, 14), index)
            cases.add(f"gather.rows.{kind}.{index}", f"net.gather {x}, {positions} <offsetDims = [2], collapsedDims = [0], "
                      f"operandBatchingDims = [], indicesBatchingDims = [], startIndexMap = [0], indexVectorDim = 2> sizes = [1, 34] : "
                      f"{cases.type(table, kind)}, {cases.type(ids + (1,), index)} -> {cases.type(ids + (34,), kind)}", [(ids + (34,), kind)], 0)
        x = cases.input(cases.array((4, 7, 9), kind, -9, 9), kind)
        positions = cases.input(cases.array((4, 6, 2), "i32", -2, 9), "i32")
        cases.add(f"gather.batch.{kind}", f"net.gather {x}, {positions} <offsetDims = [1], collapsedDims = [1], operandBatchingDims = [0], "
                  f"indicesBatchingDims = [0], startIndexMap = [2, 1], indexVectorDim = 2> sizes = [1, 1, 3] : "
                  f"{cases.type((4, 7, 9), kind)}, {cases.type((4, 6, 2), 'i32')} -> {cases.type((4, 3, 6), kind)}", [((4, 3, 6), kind)], 0)
        near = {"f32": 1e-6, "f64": 1e-14, "bf16": 3e-2}.get(kind, 0)
        for op in ("assign", "add", "multiply", "max", "min"):
            into = cases.input(cases.array(table, kind, -2, 2), kind)
            positions = cases.input(cases.array(ids + (1,), "i32", -3, 13), "i32")
            updates = cases.input(cases.array(ids + (34,), kind, -2, 2), kind)
            cases.add(f"scatter.{op}.{kind}", f"net.scatter {op} {into}, {positions}, {updates} <updateWindowDims = [2], insertedDims = [0], "
                      f"operandBatchingDims = [], indicesBatchingDims = [], scatterDimsToOperandDims = [0], indexVectorDim = 2> : "
                      f"{cases.type(table, kind)}, {cases.type(ids + (1,), 'i32')}, {cases.type(ids + (34,), kind)} -> {cases.type(table, kind)}",
                      [(table, kind)], near)


def dynamic(cases):
    shape, box = (4, 6, 35), (2, 6, 9)
    for kind, index in (("f32", "i32"), ("f64", "ui8"), ("bf16", "i64"), ("i1", "i16")):
        x, y = (cases.input(cases.array(size, kind, -9, 9), kind) for size in (shape, box))
        for place in ((0, 0, 0), (1, 5, 20), (3, 1, 99), (-1, -2, -3)):
            starts = [cases.input(np.array(at % 256 if index == "ui8" else at, NUMPY[index]), index) for at in place]
            types = ", ".join([cases.type((), index)] * 3)
            cases.add(f"dynamic_slice.{place}.{kind}".replace(" ", ""), f"net.dynamic_slice {x}[{', '.join(starts)}] : "
                      f"{cases.type(shape, kind)}, {types} -> {cases.type(box, kind)}", [(box, kind)], 0)
            cases.add(f"dynamic_update_slice.{place}.{kind}".replace(" ", ""), f"net.dynamic_update_slice {x}, {y}[{', '.join(starts)}] : "
                      f"{cases.type(shape, kind)}, {cases.type(box, kind)}, {types}", [(shape, kind)], 0)


def order(cases):
    special = np.array([np.nan, 1, -np.inf, -0.0, 0.0, np.inf, -1, 0.0, -np.nan, -0.0, 1], "f8")
    for kind in ("f32", "f64", "bf16", "i32", "ui8", "i1"):
        for size in (1, 2, 3, 8, 37):
            shape = (3, size, 2)
            x = cases.input(np.round(cases.array(shape, kind, 0 if kind == "ui8" else -4, 4)).astype(cases.array((1,), kind).dtype), kind)
            y = cases.input(cases.array(shape, "i32", 0, 2), "i32")
            for flags in ("", "descending ", "total_order ", "descending total_order "):
                cases.add(f"arg_sort.{size}.{flags.replace(' ', '.')}{kind}", f"net.arg_sort {x} dim = 1 {flags}: {cases.type(shape, kind)} -> "
                          f"{cases.type(shape, 'i32')}", [(shape, "i32")], 0)
            cases.add(f"arg_sort.keys.{size}.{kind}", f"net.arg_sort {y}, {x} dim = 1 : {cases.type(shape, 'i32')}, {cases.type(shape, kind)} "
                      f"-> {cases.type(shape, 'i64')}", [(shape, "i64")], 0)
        # A conversion to 16 bits may take a NaN's sign.
        if kind in ("f32", "f64"):
            x = cases.input(special.astype("f8" if kind == "f64" else "f4"), kind)
            for flags in ("", "descending ", "total_order ", "descending total_order "):
                cases.add(f"arg_sort.special.{flags.replace(' ', '.')}{kind}", f"net.arg_sort {x} dim = 0 {flags}: {cases.type((11,), kind)} -> "
                          f"{cases.type((11,), 'i32')}", [((11,), "i32")], 0)


def matrices(cases):
    tolerance = {"f32": 1e-5, "f64": 1e-13, "bf16": 5e-2}
    for kind, near in tolerance.items():
        for batch, size, columns in (((), 1, 3), ((), 5, 1), ((2, 3), 7, 4)):
            root = cases.array(batch + (size, size), kind, -1, 1).astype("f8")
            square = (root @ np.swapaxes(root, -1, -2) + 2 * np.eye(size)).astype("f8" if kind == "f64" else "f4")
            a, b = cases.input(square, kind), cases.input(cases.array(batch + (size, columns), kind, -1, 1), kind)
            types = cases.type(batch + (size, size), kind), cases.type(batch + (size, columns), kind)
            cases.add(f"cholesky.{len(batch)}.{size}.{kind}", f"net.cholesky {a} : {types[0]}", [(batch + (size, size), kind)], near)
            cases.add(f"triangular_solve.{len(batch)}.{size}.{kind}", f"net.triangular_solve {a}, {b} : {types[0]}, {types[1]}",
                      [(batch + (size, columns), kind)], near)


FAMILIES = {"dynamic": dynamic, "order": order, "matrices": matrices, "elementwise": elementwise, "integers": integers, "layout": layout, "reductions": reductions,
            "products": products, "indexing": indexing}
