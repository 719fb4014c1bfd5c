# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports graphs of all kinds of operations, and what JAX computes of them: `operations.py FOLDER`.

NAME.mlir               a graph: `operations` in f64 where it is about floats, `functions` at the points where functions of
                        f64 and f32 are hard, `orders` of sorting, boxes at computed places, matrices and bits
NAME.batch.safetensors  its inputs
NAME.safetensors        its results by name
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from safetensors.numpy import save_file

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/(site-packages|dev)/")


def elementwise(x, y):
    positive = jnp.abs(x) + 0.5
    return {
        "functions": jnp.stack([jnp.exp(x), jnp.expm1(x), jnp.log(positive), jnp.log1p(positive), jnp.sqrt(positive),
                                lax.rsqrt(positive), jnp.cbrt(x), jnp.sin(x), jnp.cos(x), jnp.tan(x), jnp.tanh(x),
                                lax.logistic(x), jax.scipy.special.erf(x), jax.scipy.special.erfc(x)]),
        "roundings": jnp.stack([jnp.floor(x), jnp.ceil(x), lax.round(4 * x, lax.RoundingMethod.TO_NEAREST_EVEN),
                                jnp.sign(x), jnp.abs(x), -x]),
        "pairs": jnp.stack([x + y, x - y, x * y, x / y, lax.max(x, y), lax.min(x, y), positive**y, lax.rem(x, y),
                            jnp.arctan2(x, y), jnp.where(x > y, x, y)]),
        "narrow": x.astype(jnp.bfloat16).astype(jnp.float64) + x.astype(jnp.float16).astype(jnp.float64),
        "integers": (10 * x).astype(jnp.int32),
        "finite": jnp.isfinite(jnp.where(x > 0, x, jnp.inf)),
    }


def integers(i, u):
    return {
        "signed": jnp.stack([i + 3, i * i, i // 2, lax.div(i, jnp.int32(-3)), lax.rem(i, jnp.int32(4)), i >> 1, i << 2,
                             lax.shift_right_logical(i, jnp.int32(28)), i ^ 5, ~i, i & 6, i | 9, jnp.sign(i),
                             jnp.abs(i)]),
        "unsigned": jnp.stack([u + jnp.uint32(4294967295), u // jnp.uint32(3), u >> jnp.uint32(4), u * u,
                               lax.max(u, ~u)]),
        "orders": jnp.stack([i < 2, i >= 2, i == 3, u < ~u, u > ~u, (i > 0) & (u > 0), (i > 0) | (u > 0), ~(i > 0),
                             (i > 0) ^ (u > 0)]),
    }


def reductions(x, i):
    held = x.at[1, 2].set(jnp.nan).at[2, 1].set(x[2, 4])
    pairs = lax.reduce((x, i), (np.float64(2), np.int32(1)), lambda a, b: (a[0] + b[0], lax.max(a[1], b[1])), (1,))
    return {
        "sums": jnp.sum(x, axis=0), "products": jnp.prod(x, axis=1),
        "largest": jnp.max(x), "smallest": jnp.min(x, axis=0),
        "started": pairs[0], "started_integers": pairs[1],
        "argmax": jnp.argmax(x, axis=1), "argmin": jnp.argmin(x, axis=0), "argmax_with_nan": jnp.argmax(held, axis=1),
        "argmax_of_ties": jnp.argmax(jnp.floor(2 * x), axis=1), "argmax_of_booleans": jnp.argmax(x > 0.5, axis=1),
        "every": jnp.all(x > -1, axis=0), "some": jnp.any(x > 1, axis=1),
    }


def layouts(x):
    return {
        "padded": lax.pad(x, np.float64(7), [(1, -1, 1), (-1, 2, 0)]),
        "pieces": jnp.concatenate([x[:, 1:5:2], x[:, :2], x[:, 5:]], axis=1),
        "turned": jnp.transpose(x.reshape(2, 2, 6), (2, 0, 1)), "repeated": jnp.broadcast_to(x[:, None, :1], (4, 3, 6)),
        "counted": lax.broadcasted_iota(jnp.float64, (3, 4), 1),
        "products": jnp.einsum("ik,jk->ij", x, x) + jnp.einsum("bik,bjk->ij", x.reshape(2, 4, 3), x.reshape(2, 4, 3)),
    }


def indexed(x, i):
    rows = i[:, 0]
    update = jnp.arange(24.0).reshape(4, 6) / 7
    return {
        "taken": jnp.take(x, i % 5, axis=0), "taken_along": jnp.take_along_axis(x, i % 6, axis=1),
        "clipped": jnp.take(x, i, axis=1, mode="clip"),
        "boxes": x[rows % 4, 1:3],
        "set": x.at[rows % 4].set(update, unique_indices=False), "added": x.at[rows % 5].add(update),
        "multiplied": x.at[rows % 4, 2].multiply(3.0),
        "raised": x.at[rows % 4].max(update), "lowered": x.at[:, rows % 6].min(update[:, :4]),
        "dropped": x.at[rows].add(update, mode="drop"),
    }


def graph(x, y, i, u):
    groups = {"elementwise": elementwise(x, y), "integer": integers(i, u), "reduced": reductions(x, i),
              "moved": layouts(x), "indexed": indexed(x, i)}
    return {f"{group}_{name}": value for group, results in groups.items() for name, value in results.items()}


FUNCTIONS = {
    name: getattr(lax, name)
    for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cosh", "digamma", "erf", "erfc", "erf_inv", "exp",
                 "expm1", "lgamma", "log", "log1p", "logistic", "rsqrt", "sign", "sinh", "sqrt", "tanh", "is_finite")
} | {
    "round": lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),
    "round_even": lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN),
    "half": lambda x: lax.reduce_precision(x, 5, 10), "brain": lambda x: lax.reduce_precision(x, 8, 7),
    "eighth": lambda x: lax.reduce_precision(x, 4, 3), "clamped": lambda x: lax.clamp(jnp.asarray(-0.5, x.dtype), x, x * 0 + 1),
    "next_up": lambda x: lax.nextafter(x, x * 0 + jnp.asarray(9, x.dtype)),
}


def functions(f64, f32):
    results = {f"{name}_{label}": function(x) for label, x in (("f64", f64), ("f32", f32)) for name, function in FUNCTIONS.items()}
    for label, x in (("f64", f64), ("f32", f32)):
        order = jnp.asarray([0, 1, 2, 5], x.dtype)[:, None]
        point = jnp.clip(jnp.abs(x), 0.1, 1e5)
        results |= {f"zeta_{label}": lax.zeta(*jnp.broadcast_arrays(order + 1.5, point)), f"bessel_i1e_{label}": lax.bessel_i1e(x),
                    f"polygamma_{label}": lax.polygamma(*jnp.broadcast_arrays(order, point))}
    return results


def orders(x, held, i, u, at):
    square = x[:, :4] @ x[:, :4].T + 3 * jnp.eye(4)
    lower = jnp.tril(square)
    solve = lambda a, b, **how: lax.linalg.triangular_solve(a, b, **how)
    batch = jnp.stack([square, square + 1])
    results = {
        "sorted": jnp.sort(held, axis=1), "descending": jnp.sort(held, axis=0, descending=True),
        "argsort": jnp.argsort(held, axis=1), "argsort_descending": jnp.argsort(i, axis=1, descending=True),
        "argsort_booleans": jnp.argsort(i > 0, axis=1), "argsort_unsigned": jnp.argsort(u, axis=0),
        "top": lax.top_k(held, 3), "top_integers": lax.top_k(i, 2), "top_all": lax.top_k(x, 6),
        "nearly": lax.approx_max_k(x, 3), "nearly_least": lax.approx_min_k(x, 2, reduction_dimension=0),
        "pairs": lax.sort((i % 3, held, x), dimension=1, num_keys=2), "one_key": lax.sort((i % 3, x), dimension=0, num_keys=1),
        "median": jnp.median(x, axis=1), "reversed": lax.rev(x, (0, 1)),
        "box": lax.dynamic_slice(x, (at, at - 7), (2, 3)), "row": lax.dynamic_index_in_dim(x, at, 0),
        "rewritten": lax.dynamic_update_slice(x, x[:2, :3] * 9, (at - 1, at + 1)),
        "fixed": lax.dynamic_update_slice(x, x[:2, :3] * 9, (1, 2)),
        "cholesky": lax.linalg.cholesky(batch), "solved": solve(lower, x, left_side=True, lower=True),
        "solved_transposed": solve(lower, x, left_side=True, lower=True, transpose_a=True),
        "solved_upper": solve(square, x, left_side=True, lower=False, unit_diagonal=True),
        "solved_right": solve(square, x.T, lower=False), "solved_right_lower": solve(lower, x.T, lower=True, transpose_a=True),
        "counted_bits": lax.population_count(i), "leading_zeros": lax.clz(u), "leading_zeros_signed": lax.clz(i),
        "wide": lax.bitcast_convert_type(u[:, ::2], jnp.uint8), "infinite": jnp.isinf(held),
        "cut": lax.pad(x, np.float64(7), [(-2, 3, 0), (2, -3, 2)]),
        "checkpointed": jax.grad(lambda y: jnp.sum(jax.checkpoint(lambda z: jnp.sin(jnp.sin(z)))(y)))(x),
        "each_row": jax.vmap(lambda row, k: row[k])(x, jnp.abs(i[:, :2]) % 6),
        "each_row_set": jax.vmap(lambda row, k: row.at[k].add(2.0))(x, jnp.abs(i[:, :2]) % 6),
    }
    flat = {name: value if isinstance(value, (tuple, list)) else (value,) for name, value in results.items()}
    return {f"{name}{number}": value for name, values in flat.items() for number, value in enumerate(values)}


def export(folder, name, function, inputs):
    is_named = name == "operations"
    lowered = jax.jit(function).lower(*inputs.values())
    (folder / f"{name}.mlir").write_text(lowered.as_text(debug_info=is_named))
    feed = inputs if is_named else {f"arg{number}": value for number, value in enumerate(inputs.values())}
    save_file(feed, folder / f"{name}.batch.safetensors")
    results = jax.jit(function)(*inputs.values())
    save_file({name: np.array(value, order="C") for name, value in results.items()}, folder / f"{name}.safetensors")


def main():
    folder = pathlib.Path(sys.argv[1])
    rng = np.random.default_rng(5)
    inputs = {"x": rng.standard_normal((4, 6)), "y": rng.standard_normal((4, 6)) + 0.1,
              "i": rng.integers(-9, 10, (4, 6), dtype="int32"), "u": rng.integers(0, 2**32, (4, 6), dtype="uint32")}
    export(folder, "operations", graph, inputs)
    magnitudes = [0, 1e-30, 1e-8, 1e-4, 0.1, 0.25, 0.49999999999999994, 0.5, 0.75, 0.9999, 1, 1.0001, 1.4616321449683623, 1.5, 2, 2.5,
                  3, 7.3, 10, 19.9, 20.1, 88, 104, 170.6, 699, 711, 12345.678, 1e9, 1e19, 1e37, np.inf]
    points = np.array([sign * value for value in magnitudes for sign in (1, -1)] + [np.nan])
    export(folder, "functions", functions, {"f64": np.concatenate([points, [1e300, -1e300, 1e-300]]), "f32": points.astype("float32")})
    held = inputs["x"].copy()
    held[0, :4], held[1, 1:3], held[2, 2] = [0.0, -0.0, 0.0, -0.0], np.nan, -np.inf
    export(folder, "orders", orders, {"x": inputs["x"], "held": held, "i": inputs["i"], "u": inputs["u"], "at": np.array(2, "int32")})


if __name__ == "__main__":
    main()
