# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports graphs of all differentiable operations, and JAX's gradients of them: `derivatives.py FOLDER [FAMILY ...]`.

For each family of operations:
derivatives-FAMILY.mlir                    the sum over all cases of the weighted sum of a case's results, in f64
derivatives-FAMILY.init.safetensors        the operands of the cases, `p.CASE.0`, `p.CASE.1`, …
derivatives-FAMILY.gradients.safetensors   `loss` and the gradients `grad/p.CASE.0`, …
"""

import pathlib
import re
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from safetensors.numpy import save_file

jax.config.update("jax_enable_x64", True)


class Cases:
    """Functions of arrays by name, and the arrays."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.all = {}

    def add(self, name, function, *operands):
        assert name not in self.all, name
        self.all[name] = (function, [np.asarray(operand, "float64") for operand in operands])

    def draw(self, *shape, low=-2.0, high=2.0):
        return self.rng.uniform(low, high, shape)

    def shape(self, rank):
        return tuple(self.rng.integers(1, 5, rank))


def add_unary(cases):
    anywhere = {"abs": jnp.abs, "cosine": jnp.cos, "erf": jax.scipy.special.erf, "erfc": jax.scipy.special.erfc, "exp": jnp.exp,
                "expm1": jnp.expm1, "floor": jnp.floor, "ceil": jnp.ceil, "logistic": lax.logistic, "negate": lambda x: -x,
                "sign": jnp.sign, "sine": jnp.sin, "tanh": jnp.tanh, "square": lax.square,
                "round": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), "cube": lambda x: lax.integer_pow(x, 3)}
    positive = {"cbrt": jnp.cbrt, "log": jnp.log, "log1p": jnp.log1p, "rsqrt": lax.rsqrt, "sqrt": jnp.sqrt, "tan": jnp.tan,
                "root": lambda x: x**0.37}
    for name, function in (anywhere | positive).items():
        draw = lambda *shape: cases.draw(*shape, low=0.3, high=1.4) if name in positive else cases.draw(*shape)
        cases.add(name, function, draw(*cases.shape(2)))
        cases.add(f"{name}, used twice", lambda x, function=function: function(x) * x, draw(*cases.shape(1)))
        cases.add(f"{name} of nothing", function, draw(0, 3))
    cases.add("erf_inv", jax.scipy.special.erfinv, cases.draw(5, low=-0.9, high=0.9))
    cases.add("converted", lambda x: x.astype(jnp.float32).astype(jnp.float64) * x, cases.draw(3, 2))
    cases.add("abs at 0", jnp.abs, [-1, 0, 2])


def add_binary(cases):
    functions = {"add": lax.add, "atan2": lax.atan2, "divide": lax.div, "maximum": lax.max, "minimum": lax.min, "multiply": lax.mul,
                 "subtract": lax.sub, "power": lax.pow, "remainder": lax.rem}
    for name, function in functions.items():
        draw = lambda *shape: cases.draw(*shape, low=0.4, high=2.3)
        shape = cases.shape(2)
        cases.add(name, function, draw(*shape), draw(*shape))
        # Operands of one shape are broadcast to another, as numpy does it.
        broadcast = lambda x, y, function=function: function(*jnp.broadcast_arrays(x, y))
        cases.add(f"{name}, broadcast", broadcast, draw(3, 1), draw(4))
        cases.add(f"{name}, used twice", lambda x, y, function=function: function(x, y) * x + y, draw(4), draw(4))
        cases.add(f"{name} of nothing", function, draw(2, 0), draw(2, 0))
        if name not in ("remainder", "subtract"):
            cases.add(f"{name} of one value", lambda x, function=function: function(x, x), draw(5))
    for name in ("maximum", "minimum"):
        cases.add(f"{name}, ties", functions[name], [1, 2, 3, 4], [1, 3, 3, 2])
    cases.add("select", lambda x, y: jnp.where(x > y, x * y, y), cases.draw(3, 4), cases.draw(3, 4))
    cases.add("clip", lambda x: jnp.clip(x, -1, 0.5), cases.draw(3, 4))
    cases.add("power, bases 0", lax.pow, [0, 0, 2.0], [2, 3, 0])


def add_layout(cases):
    for round in range(2):
        rows, columns = cases.rng.integers(3, 6, 2)
        order = tuple(cases.rng.permutation(3))
        cases.add(f"broadcast {round}", lambda x, rows=rows: jnp.broadcast_to(x[None, :, None], (rows, x.shape[0], 2)), cases.draw(columns))
        cases.add(f"reshape {round}", lambda x: x.reshape(-1, 2) * 3, cases.draw(rows, 2, columns))
        cases.add(f"transpose {round}", lambda x, order=order: x.transpose(order), cases.draw(*cases.shape(3)))
        cases.add(f"slice {round}", lambda x, round=round: x[1:, round::2], cases.draw(rows, columns))
        low, high, inner = cases.rng.integers(-1, 3, 2), cases.rng.integers(-1, 3, 2), cases.rng.integers(0, 3, 2)
        config = [tuple(int(number) for number in numbers) for numbers in zip(low, high, inner)]
        cases.add(f"pad {round}", lambda x, value, config=config: lax.pad(x, value, config), cases.draw(rows, columns), cases.draw())
        cases.add(f"concatenate {round}", lambda x, y, round=round: jnp.concatenate([x, y, x], axis=round), cases.draw(3, 3), cases.draw(3, 3))
    cases.add("slices that tile", lambda x: x[:, :2] * x[:, 2:4] + x[:, 4:], cases.draw(3, 6))
    cases.add("slices that overlap", lambda x: x[:, :4] * x[:, 2:], cases.draw(3, 6))
    cases.add("slice of nothing", lambda x: x[2:2] * 2, cases.draw(4, 2))
    cases.add("pad of nothing", lambda x, value: lax.pad(x, value, [(1, 2, 0)]), cases.draw(0), cases.draw())
    cases.add("concatenate with nothing", lambda x, y: jnp.concatenate([x, y]), cases.draw(0, 2), cases.draw(3, 2))


def add_products(cases):
    for name in ("ik,kj->ij", "bik,bjk->bij", "abij,abjk->abik", "ijk,kl->lij", "bqgrd,bkgd->bgrqk", "ij,ij->", "i,j->ij", "bi,bi->b",
                 "kb,bjk->bj"):
        left, right = name.split("->")[0].split(",")
        sizes = {letter: cases.rng.integers(1, 4) for letter in left + right}
        operands = (cases.draw(*(sizes[letter] for letter in side)) for side in (left, right))
        cases.add(name, lambda x, y, name=name: jnp.einsum(name, x, y), *operands)
    cases.add("product with itself", lambda x: x @ x.T, cases.draw(3, 4))
    cases.add("product of nothing", lambda x, y: x @ y, cases.draw(2, 0), cases.draw(0, 3))


def add_reductions(cases):
    for name, function in {"sum": jnp.sum, "max": jnp.max, "min": jnp.min, "prod": jnp.prod}.items():
        for axes in ((0,), (1, 2), (0, 1, 2)):
            cases.add(f"{name} over {axes}", lambda x, function=function, axes=axes: function(x, axis=axes), cases.draw(2, 3, 4))
        cases.add(f"{name}, used twice", lambda x, function=function: function(x, axis=1, keepdims=True) * x, cases.draw(3, 4))
        cases.add(f"{name}, ties", lambda x, function=function: function(x, axis=1), [[1, 3, 3, 2], [5, 5, 5, 5], [1, 1, 2, 1]])
    cases.add("product with zeros", lambda x: jnp.prod(x, axis=1), [[1, 2, 3], [2, 0, 3], [0, 0, 5]])
    cases.add("sum of nothing", lambda x: jnp.sum(x, axis=0), cases.draw(0, 3))
    cases.add("sum over nothing", lambda x: jnp.sum(x, axis=1), cases.draw(0, 3))
    for name, function in {"argmax": jnp.argmax, "argmin": jnp.argmin}.items():
        found = lambda x, function=function: jnp.take_along_axis(x, function(x, axis=1)[:, None], axis=1)
        cases.add(f"{name}, taken", found, cases.draw(3, 4))
        cases.add(f"{name}, ties", found, [[1, 3, 3, 1], [2, 2, 2, 2]])
    cases.add("softmax", lambda x: jax.nn.softmax(x, axis=0), cases.draw(3, 4))
    cases.add("logsumexp", lambda x: jax.nn.logsumexp(x, axis=1), cases.draw(3, 4))
    cases.add("variance", lambda x: (x - x.mean(1, keepdims=True)) * lax.rsqrt(x.var(1, keepdims=True) + 1e-5), cases.draw(3, 4))


def add_indexing(cases):
    rows = jnp.array([1, 4, 1, 0, 4, 4])
    far = jnp.array([1, 9, -3, 0, 4, -9])
    for mode in ("fill", "wrap"):
        cases.add(f"take, {mode}", lambda x, mode=mode: jnp.take(x, rows, axis=0, mode=mode), cases.draw(5, 3))
    cases.add("take, used twice", lambda x: jnp.take(x, rows, axis=0) * x[2], cases.draw(5, 3))
    cases.add("take along", lambda x: jnp.take_along_axis(x, jnp.array([[2, 2, 0], [3, 1, 1]]), axis=1), cases.draw(2, 4))
    cases.add("pairs", lambda x: x[jnp.array([0, 2, 2]), jnp.array([1, 0, 0])], cases.draw(3, 2))
    boxes = lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0, 1))
    corners = jnp.array([[0, 1], [2, 2], [1, 1], [1, 1]])
    cases.add("boxes", lambda x: lax.gather(x, corners, boxes, (2, 3), mode="promise_in_bounds"), cases.draw(4, 5))
    cases.add("added", lambda x, u: x.at[far].add(u, mode="drop"), cases.draw(5, 3), cases.draw(6, 3))
    cases.add("set", lambda x, u: x.at[jnp.array([3, 0, 4])].set(u), cases.draw(5, 2), cases.draw(3, 2))
    cases.add("set, one place", lambda x, u: x.at[1, 2].set(u) * x, cases.draw(3, 4), cases.draw())
    into = lax.ScatterDimensionNumbers(update_window_dims=(1, 2), inserted_window_dims=(), scatter_dims_to_operand_dims=(0, 1))
    # The last two boxes do not lie inside, and are dropped.
    spread = jnp.array([[0, 1], [1, 0], [1, 2], [3, 1], [-1, 0]])
    cases.add("added boxes", lambda x, u: lax.scatter_add(x, spread, u, into, mode="drop"), cases.draw(4, 5), cases.draw(5, 2, 3))
    cases.add("segments", lambda x: jax.ops.segment_sum(x, jnp.array([0, 2, 2, 1, 0]), num_segments=4), cases.draw(5, 2))
    cases.add("taken of nothing", lambda x: jnp.take(x, jnp.zeros((0,), int), axis=0), cases.draw(3, 2))


def add_extremes(cases):
    """Largest and smallest updates: of ties each has its share, the operand too where it is one of them."""
    segments = jnp.array([0, 2, 2, 1, 0, 7])
    for name, segment in {"max": jax.ops.segment_max, "min": jax.ops.segment_min}.items():
        cases.add(f"segments, {name}", lambda x, segment=segment: jnp.where(jnp.isfinite(y := segment(x, segments, 4)), y, 0), cases.draw(6, 2))
    rows = jnp.array([3, 0, 3, 9, -1, 3])
    into = lax.ScatterDimensionNumbers(update_window_dims=(1, 2), inserted_window_dims=(), scatter_dims_to_operand_dims=(0, 1))
    # The last two boxes do not lie inside, and are dropped.
    spread = jnp.array([[0, 1], [1, 0], [1, 2], [3, 1], [-1, 0]])
    for name, scatter in {"max": lax.scatter_max, "min": lax.scatter_min}.items():
        at = lambda x, u, name=name, mode="drop": getattr(x.at[rows], name)(u, mode=mode)
        cases.add(f"{name} of rows", at, cases.draw(5, 3), cases.draw(6, 3))
        cases.add(f"{name} of rows, clamped", lambda x, u, at=at: at(x, u, mode="clip") * x, cases.draw(5, 3), cases.draw(6, 3))
        cases.add(f"{name} of boxes", lambda x, u, scatter=scatter: scatter(x, spread, u, into, mode="drop"), cases.draw(4, 5), cases.draw(5, 2, 3))
        cases.add(f"{name}, ties", at, [1, 3, 3, 2, 2.0], [2, 5, 2, 5, 2, 2.0])
        cases.add(f"{name}, many ties", at, cases.rng.integers(0, 2, (5, 4)), cases.rng.integers(0, 2, (6, 4)))
        cases.add(f"{name} of one value", lambda x, name=name: getattr(x.at[jnp.array([1, 1])], name)(x[:2]), cases.draw(4))


def add_conditionals(cases):
    """Branches that are not taken, of which zero times the derivative is no number."""
    for name, sign in (("first", 1.0), ("second", -1.0)):
        taken = lambda x, sign=sign: sign * jnp.sum(x) > 0
        roots = lambda x, sign=sign: jnp.sqrt(sign * x) + jnp.log(sign * x)
        cases.add(f"roots, {name} branch", lambda x, taken=taken, roots=roots: lax.cond(taken(x), roots, lambda x: 2 * x, x), cases.draw(3, low=0.5))
    cases.add("quotient, first branch", lambda x, y: lax.cond(jnp.sum(x) < 0, lambda: y / (x - x), lambda: y * y), cases.draw(3, low=0.5), cases.draw(3))
    cases.add("quotient, second branch", lambda x, y: lax.cond(jnp.sum(x) > 0, lambda: y * y, lambda: y / (x - x)), cases.draw(3, low=0.5), cases.draw(3))
    # The product is with what is infinite outside of the branch.
    cases.add("finite or not", lambda x, w: lax.cond(jnp.all(jnp.isfinite(1 / x)), lambda: w / x, lambda: w), [0.0, 1.0], [2.0, 3.0])
    # Numbers that no branch has choose the nearest.
    for number in (-2, 0, 1, 2, 5):
        branches = [jnp.sqrt, lambda x: x * x, lambda x: jnp.log(-x)]
        cases.add(f"switch, {number}", lambda x, number=number: lax.switch((jnp.sum(x) * 0).astype(jnp.int32) + number, branches, x),
                  cases.draw(3, low=-2, high=-0.5) if number >= 2 else cases.draw(3, low=0.5, high=2))
    inner = lambda x: lax.cond(x[0] > 1, jnp.log, lambda x: jnp.sqrt(-x), x)
    cases.add("in one another", lambda x: lax.cond(x[0] > 0, lambda x: x * 3, inner, x), [-0.5, -1.5])
    cases.add("in a scan", lambda x: lax.scan(lambda c, y: (lax.cond(y > 0, lambda: c * jnp.sqrt(y), lambda: c - y), c), x[0], x)[0], [0.5, -0.25, 2.0, -1.0])


def add_functions(cases):
    inside = {"acos": lax.acos, "asin": lax.asin, "atanh": lax.atanh, "erf_inv": lax.erf_inv}
    anywhere = {"asinh": lax.asinh, "atan": lax.atan, "cosh": lax.cosh, "sinh": lax.sinh, "lgamma": lax.lgamma, "digamma": lax.digamma,
                "half": lambda x: lax.reduce_precision(x, 8, 23) * x, "clamp": lambda x: lax.clamp(-0.7, x, 0.9),
                "round": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), "bessel_i1e": lax.bessel_i1e}
    for name, function in (anywhere | inside).items():
        low, high = (-0.95, 0.95) if name in inside else (-2.9, 2.9)
        cases.add(name, function, cases.draw(3, 4, low=low, high=high))
        cases.add(f"{name}, used twice", lambda x, function=function: function(x) * x, cases.draw(4, low=low, high=high))
    cases.add("acosh", lax.acosh, cases.draw(3, 4, low=1.1, high=4))
    cases.add("far out", lambda x: lax.asinh(x) + lax.atan(x) + lax.acosh(jnp.abs(x)), [-1e200, 1e200, 3e9])
    cases.add("polygamma", lambda x: lax.polygamma(jnp.array([0.0, 1.0, 2.0]), x), cases.draw(3, low=0.3, high=4))


def add_orders(cases):
    place = lambda x: jnp.argmax(x.ravel()) % 4
    cases.add("reverse", lambda x: x[::-1, :] * x, cases.draw(3, 4))
    cases.add("sort", lambda x: jnp.sort(x, axis=0), cases.draw(5, 3))
    cases.add("sort, ties", lambda x: jnp.sort(x), [2, 1, 2, 1, 1])
    cases.add("sort by keys", lambda x, y: lax.sort((jnp.floor(x), y), num_keys=2)[1] * x, cases.draw(6), cases.draw(6))
    cases.add("largest", lambda x: lax.top_k(x, 2)[0], cases.draw(3, 5))
    cases.add("median", lambda x: jnp.median(x, axis=1), cases.draw(3, 5))
    cases.add("box", lambda x: lax.dynamic_slice(x, (place(x), place(x)), (2, 4)), cases.draw(3, 4))
    cases.add("row, used twice", lambda x: x[place(x)] * x, cases.draw(4, 3))
    cases.add("box written", lambda x, u: lax.dynamic_update_slice(x, u, (place(x), place(u))) * x, cases.draw(4, 5), cases.draw(2, 3))
    cases.add("box written at a known place", lambda x, u: lax.dynamic_update_slice(x, u, (1, 0)), cases.draw(4, 5), cases.draw(2, 3))
    positive = lambda x: x @ x.T + jnp.eye(x.shape[0])
    cases.add("cholesky", lambda x: lax.linalg.cholesky(positive(x)), cases.draw(4, 4))
    cases.add("cholesky as it comes", lambda x: lax.linalg.cholesky(x, symmetrize_input=True), [[4, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]])
    cases.add("cholesky of many", jax.vmap(lambda x: lax.linalg.cholesky(positive(x))), cases.draw(2, 3, 3))
    for number in range(8):
        side, lower, transpose = (bool(number >> bit & 1) for bit in range(3))
        solve = lambda a, b, how=dict(left_side=side, lower=lower, transpose_a=transpose, unit_diagonal=number == 5): (
            lax.linalg.triangular_solve(a + 3 * jnp.eye(3), b, **how))
        cases.add(f"triangular solve {number}", solve, cases.draw(3, 3), cases.draw(*((3, 2) if side else (2, 3))))
    cases.add("checkpoint", jax.checkpoint(lambda x: jnp.sin(jnp.sin(x))), cases.draw(3))


def add_windows(cases):
    def convolve(strides, padding, spread, apart, groups=1, batch_groups=1, layouts=("NHWC", "HWIO", "NHWC")):
        return lambda x, w: lax.conv_general_dilated(x, w, strides, padding, spread, apart, layouts, groups, batch_groups)

    cases.add("convolution", convolve((1, 1), "SAME", (1, 1), (1, 1)), cases.draw(2, 5, 4, 3), cases.draw(3, 3, 3, 2))
    cases.add("convolution in strides", convolve((2, 3), [(1, 0), (2, 1)], (1, 1), (1, 1)), cases.draw(2, 5, 6, 2), cases.draw(2, 3, 2, 3))
    cases.add("convolution that cuts", convolve((1, 2), [(-1, 2), (0, -1)], (1, 1), (1, 2)), cases.draw(1, 6, 7, 2), cases.draw(2, 2, 2, 2))
    cases.add("transposed convolution", convolve((1, 1), [(1, 2), (2, 1)], (2, 3), (1, 1)), cases.draw(2, 3, 2, 2), cases.draw(3, 2, 2, 3))
    cases.add("convolution, dilated", convolve((2, 1), [(2, 2), (1, 3)], (2, 1), (2, 2)), cases.draw(1, 4, 5, 2), cases.draw(2, 3, 2, 2))
    cases.add("convolution in groups", convolve((1, 1), "VALID", (1, 1), (1, 1), groups=2), cases.draw(2, 4, 4, 4), cases.draw(2, 2, 2, 6))
    cases.add("convolution, batch in groups", convolve((1, 1), "VALID", (1, 1), (1, 1), batch_groups=2), cases.draw(4, 4, 4, 2), cases.draw(2, 2, 2, 6))
    cases.add("convolution, features first", convolve((2, 1), [(1, 1), (0, 0)], (1, 1), (1, 1), layouts=("NCHW", "OIHW", "NCHW")),
              cases.draw(2, 2, 4, 3), cases.draw(3, 2, 2, 2))
    cases.add("convolution of lines", lambda x, w: lax.conv_general_dilated(x, w, (2,), [(1, 2)], None, None, ("NWC", "WIO", "NWC")),
              cases.draw(2, 6, 3), cases.draw(3, 3, 2))
    cases.add("convolution with itself", lambda x: lax.conv_general_dilated(x, x, (1,), [(1, 1)], None, None, ("NWC", "WIO", "NWC")),
              cases.draw(2, 2, 2))

    def pool(start, combine, sizes=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="VALID"):
        return lambda x: lax.reduce_window(x, start, combine, sizes, strides, padding)

    for name, start, combine in (("largest", -np.inf, lax.max), ("smallest", np.inf, lax.min), ("sum", 0.0, lax.add)):
        cases.add(f"{name} in windows", pool(start, combine), cases.draw(2, 4, 6, 2))
        cases.add(f"{name} in windows that overlap", pool(start, combine, (1, 3, 2, 1), (1, 2, 1, 1), ((0, 0), (1, 1), (0, 1), (0, 0))),
                  cases.draw(1, 5, 4, 2))
    cases.add("largest in windows, ties", pool(-np.inf, lax.max, (2,), (2,)), [1, 1, 3, 2, 2, 2.0])
    for name, function in {"cumsum": jnp.cumsum, "cumprod": jnp.cumprod, "cummax": lax.cummax, "cumlogsumexp": lax.cumlogsumexp}.items():
        for axis in (0, 1):
            cases.add(f"{name} along {axis}", lambda x, function=function, axis=axis: function(x, axis=axis), cases.draw(3, 4))
    cases.add("cumsum backwards", lambda x: lax.cumsum(x, axis=1, reverse=True) * x, cases.draw(3, 4))

    def select(pooled):
        """The cotangent of what is pooled, which windows scatter to what they select."""
        return lambda x, sources: jax.vjp(pooled, x)[1](sources)[0]

    cases.add("selected in windows", select(pool(-np.inf, lax.max)), cases.draw(2, 4, 6, 2), cases.draw(2, 2, 3, 2))
    cases.add("selected in windows that overlap", select(pool(np.inf, lax.min, (1, 3, 2, 1), (1, 2, 1, 1), ((0, 0), (1, 1), (0, 1), (0, 0)))),
              cases.draw(1, 5, 4, 2), cases.draw(1, 3, 4, 2))
    cases.add("selected in windows, ties", select(pool(-np.inf, lax.max, (2,), (2,))), [1, 1, 3, 2, 2, 2.0], [0.5, -1.5, 2.0])


# By name, in the order in which they stand here.
FAMILIES = {name.removeprefix("add_"): function for name, function in list(globals().items()) if name.startswith("add_")}


def weigh(result):
    """Different weights for all elements, so that none stands for another."""
    numbers = jnp.arange(result.size, dtype=result.dtype).reshape(result.shape)
    return jnp.sum(result * jnp.cos(1 + numbers))


def with_names(text, names):
    """The text with a location for each argument of the main function, which is what it is called by."""
    head = re.search(r"func.func public @main\(.*\n", text)
    signature = re.sub(r"%arg(\d+): tensor<[^>]*>", lambda found: f'{found[0]} loc("{names[int(found[1])]}")', head[0])
    return text[:head.start()] + signature + text[head.end():]


def write(folder, family):
    cases = Cases(seed=7)
    FAMILIES[family](cases)

    def loss(p):
        return sum(weigh(function(*p[name])) for name, (function, _) in cases.all.items())

    operands = {name: arrays for name, (_, arrays) in cases.all.items()}
    value, gradients = jax.value_and_grad(loss)(operands)
    # In the order in which jit hands arguments on.
    paths, _ = jax.tree_util.tree_flatten_with_path(operands)
    keys = [f"p.{path[0].key}.{path[1].idx}" for path, _ in paths]
    locations = [f"p['{path[0].key}'][{path[1].idx}]" for path, _ in paths]
    start = folder / f"derivatives-{family}"
    text = jax.jit(loss, keep_unused=True).lower(operands).as_text()
    start.with_suffix(".mlir").write_text(with_names(text, locations))
    save_file({key: np.asarray(leaf) for key, (_, leaf) in zip(keys, paths)}, f"{start}.init.safetensors")
    found = {f"grad/{key}": np.asarray(leaf) for key, leaf in zip(keys, jax.tree.leaves(gradients))}
    save_file(found | {"loss": np.asarray(value)}, f"{start}.gradients.safetensors")
    print(f"derivatives-{family}: {len(cases.all)} cases, {len(keys)} operands")


def main():
    for family in sys.argv[2:] or FAMILIES:
        write(pathlib.Path(sys.argv[1]), family)


if __name__ == "__main__":
    main()
