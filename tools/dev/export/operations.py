# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports one graph of all kinds of operations, and what JAX computes of it: `operations.py FOLDER`.

operations.mlir               the graph, in f64 where it is about floats
operations.batch.safetensors  its inputs
operations.safetensors        its results by name
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


def main():
    folder = pathlib.Path(sys.argv[1])
    rng = np.random.default_rng(5)
    inputs = {"x": rng.standard_normal((4, 6)), "y": rng.standard_normal((4, 6)) + 0.1,
              "i": rng.integers(-9, 10, (4, 6), dtype="int32"), "u": rng.integers(0, 2**32, (4, 6), dtype="uint32")}
    lowered = jax.jit(graph).lower(*inputs.values())
    (folder / "operations.mlir").write_text(lowered.as_text(debug_info=True))
    save_file(inputs, folder / "operations.batch.safetensors")
    results = jax.jit(graph)(*inputs.values())
    save_file({name: np.array(value, order="C") for name, value in results.items()}, folder / "operations.safetensors")


if __name__ == "__main__":
    main()
