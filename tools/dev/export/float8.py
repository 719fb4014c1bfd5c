# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports what is done with floats of 8 bits, and what JAX and ml_dtypes make of it: `float8.py FOLDER`.

float8.mlir               a graph that reads all 256 patterns of every type, rounds floats to it, and computes with it
float8.batch.safetensors  its inputs: the patterns, floats around everything that rounding depends on, and small arrays
float8.safetensors        its results by name: conversions as ml_dtypes makes them, the rest as JAX does on a CPU
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
from jax import lax
from safetensors.numpy import save_file

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/(site-packages|dev)/")

TYPES = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e4m3", "float8_e3m4"]


def bits(x):
    """The patterns, one for all that are no numbers."""
    return jnp.where(jnp.isnan(x), jnp.uint8(0x7f), lax.bitcast_convert_type(x, jnp.uint8))


def computed(a, b, at):
    """Some operations on arrays of one type, of numbers whose sums are exact."""
    return {
        "sum": a + b, "difference": a - b, "product": a * b, "quotient": a / b, "larger": jnp.maximum(a, b), "negative": -a,
        "exponential": jnp.exp(a), "chosen": jnp.where(a < b, a, b), "moved": jnp.concatenate([a.T, b.T], 1)[::-1], "taken": a[at],
        "padded": jnp.pad(a, ((1, 0), (0, 2))), "box": lax.dynamic_slice(a, (at[0], at[1]), (2, 3)),
        "written": lax.dynamic_update_slice(a, b[:2, :2], (at[0], at[1])), "most": jnp.max(a, axis=1), "least": jnp.min(a, axis=0),
        "added": lax.reduce(jnp.sign(a), jnp.zeros((), a.dtype), lax.add, (1,)), "ordered": jnp.sort(a, axis=1),
        "rows": lax.dot_general(a, b, (((1,), (1,)), ((), ())), preferred_element_type=jnp.float32),
        "short_rows": lax.dot_general(a, b, (((1,), (1,)), ((), ()))), "scattered": a.at[at].add(b[:3]),
    }


def graph(patterns, x, wide, a, b, at):
    results = {}
    for name in TYPES:
        dtype = jnp.dtype(name)
        results[f"{name}_numbers"] = lax.bitcast_convert_type(patterns, dtype).astype(jnp.float32)
        results[f"{name}_rounded"] = bits(x.astype(dtype))
        results[f"{name}_rounded_wide"] = bits(wide.astype(dtype))
        results[f"{name}_integers"] = lax.bitcast_convert_type(patterns, dtype).astype(jnp.int32)
        results[f"{name}_from_integers"] = bits(at.astype(dtype))
        results[f"{name}_half"] = lax.bitcast_convert_type(patterns, dtype).astype(jnp.bfloat16).astype(jnp.float32)
        for key, value in computed(a.astype(dtype), b.astype(dtype), at).items():
            results[f"{name}_{key}"] = value.astype(jnp.float32)
        results[f"{name}_first"] = jnp.argmax(a.astype(dtype), axis=1)
    return results


def by_ml_dtypes(inputs):
    """What conversions have to give."""
    results = {}
    for name in TYPES:
        dtype = np.dtype(getattr(ml_dtypes, name))
        numbers = inputs["patterns"].view(dtype)
        results[f"{name}_numbers"] = numbers.astype(np.float32)
        for key, source in (("rounded", "x"), ("rounded_wide", "wide")):
            with np.errstate(all="ignore"):
                value = inputs[source].astype(dtype)
            results[f"{name}_{key}"] = np.where(np.isnan(value.astype(np.float32)), np.uint8(0x7f), value.view(np.uint8))
    return results


def make_floats():
    """Every number of every type, what lies halfway between neighbours, and the floats beside both; and others."""
    points = [np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e-30, 1e30, 3e38, 1e-45])]
    for name in TYPES:
        numbers = np.arange(128, dtype=np.uint8).view(np.dtype(getattr(ml_dtypes, name))).astype(np.float64)
        numbers = numbers[np.isfinite(numbers)]
        points += [numbers, -numbers[1:4], (numbers[1:] + numbers[:-1]) / 2, [numbers[-1] + (numbers[-1] - numbers[-2]) / 2, numbers[-1] * 2]]
    points = np.unique(np.concatenate(points))
    near = points.astype(np.float32)
    x = np.concatenate([near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))])
    return np.unique(x), np.unique(np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)]))[::3]


def main():
    folder = pathlib.Path(sys.argv[1])
    random = np.random.default_rng(8)
    x, wide = make_floats()
    small = lambda shape: (random.integers(1, 8, shape) * random.choice([-0.25, 0.25], shape)).astype(np.float32)
    inputs = {"patterns": np.arange(256, dtype=np.uint8), "x": x, "wide": wide, "a": small((4, 6)), "b": small((4, 6)),
              "at": np.array([2, 1, 3], np.int32)}
    (folder / "float8.mlir").write_text(jax.jit(graph).lower(**inputs).as_text(debug_info=True))
    results = {name: np.array(value, order="C") for name, value in jax.jit(graph)(**inputs).items()}
    for name, value in by_ml_dtypes(inputs).items():
        differ = ~((results[name] == value) | (np.isnan(results[name]) & np.isnan(value)) if value.dtype.kind == "f" else results[name] == value)
        if differ.any():
            print(f"JAX has {differ.sum()} of {value.size} elements of {name} otherwise than ml_dtypes")
        results[name] = value
    save_file({name: np.ascontiguousarray(value) for name, value in inputs.items()}, folder / "float8.batch.safetensors")
    save_file(results, folder / "float8.safetensors")


main()
