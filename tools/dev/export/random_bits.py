# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports what draws random bits, and what JAX computes of it on a CPU: `random_bits.py FOLDER`.

random.mlir               a graph that draws in all ways; threefry in both of JAX's modes, the generator of bits, and what derives keys
random.batch.safetensors  its inputs: a key for each of them, a step, and some floats
random.safetensors        its results by name
masks.mlir                the loss of a product that is dropped out, once for every generator, and what is left of it
masks.batch.safetensors   its inputs, the parameter among them
masks.safetensors         its results by name
"""

import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random
from safetensors.numpy import save_file

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/(site-packages|dev)/")


def draws(key):
    """Masks and numbers, of odd and even sizes."""
    first, second, third = random.split(key, 3)
    return {
        "mask": random.bernoulli(first, 0.9, (4, 6)), "odd_mask": random.bernoulli(second, 0.3, (3, 5)),
        "bits": random.bits(third, (7,)), "wide_bits": random.bits(first, (2, 3), "uint64"),
        "short_bits": random.bits(second, (5,), "uint8"), "one": random.bits(key),
        "uniform": random.uniform(third, (3, 2), jnp.float64, -1, 2), "narrow": random.uniform(first, (4,), jnp.float32),
        "normal": random.normal(second, (4, 5), jnp.float64), "truncated": random.truncated_normal(first, -2, 2, (5,), jnp.float64), "integers": random.randint(third, (6,), -5, 100),
    }


def steps(x):
    """The floats next to some, on both sides of zero, and to infinities."""
    towards = jnp.array([0, -1, 1, jnp.inf, -jnp.inf, jnp.nan, 2.5], x.dtype)
    return {"f64": jnp.nextafter(x[:, None], towards), "f32": jnp.nextafter(x.astype("float32")[:, None], towards.astype("float32"))}


def keys(key, step):
    return {
        "folded": random.key_data(random.fold_in(key, step)), "folded_constant": random.key_data(random.fold_in(key, 7)),
        "split": random.key_data(random.split(key, 4)), "mask": random.bernoulli(random.fold_in(key, step), 0.5, (2, 8)),
    }


def generated(key):
    """What the generator itself gives: its next state, and elements of every width, by both algorithms."""
    results = {}
    for algorithm in (lax.RandomAlgorithm.RNG_PHILOX, lax.RandomAlgorithm.RNG_THREE_FRY):
        for shape, dtype in (((3, 5), "uint32"), ((3, 4, 2), "uint32"), ((5,), "uint64"), ((2, 3), "uint16"), ((9,), "uint8"),
                             ((), "uint32")):
            name = "_".join([algorithm.name[4:].lower(), dtype, *map(str, shape)])
            results[f"{name}_state"], results[name] = lax.rng_bit_generator(key, shape, dtype, algorithm=algorithm)
    return results


def graph(key, typed, rbg, counter, step, x):
    groups = {"threefry": draws(key), "typed": keys(typed, step), "generated": generated(rbg),
              "carried": generated(counter), "rbg": keys(random.wrap_key_data(rbg, impl="rbg"), step),
              "unsafe": keys(random.wrap_key_data(rbg, impl="unsafe_rbg"), step), "next": steps(x)}
    with jax.threefry_partitionable(False):
        groups |= {"original": draws(key), "original_keys": keys(key, step)}
    return {f"{group}_{name}": value for group, results in groups.items() for name, value in results.items()}


def masks(p, x, key, rbg):
    product, shape = x * p["w"], (8, 6, 24)
    kept = {"threefry": random.bernoulli(key, 0.75, shape), "rbg": random.bernoulli(random.wrap_key_data(rbg, impl="rbg"), 0.75, shape)}
    with jax.threefry_partitionable(False):
        kept["original"] = random.bernoulli(key, 0.75, shape)
    left = {name: jnp.where(mask, product, 0) for name, mask in kept.items()}
    return sum(jnp.sum(value) for value in left.values()), left


def write(folder, name, function, inputs, arguments):
    (folder / f"{name}.mlir").write_text(jax.jit(function).lower(*arguments).as_text(debug_info=True))
    save_file(inputs, folder / f"{name}.batch.safetensors")
    results = jax.jit(function)(*arguments)
    if name == "masks":
        results = {"0": results[0]} | {f"1.{key}": value for key, value in results[1].items()}
    save_file({name: np.array(value, order="C") for name, value in results.items()}, folder / f"{name}.safetensors")


def main():
    folder = pathlib.Path(sys.argv[1])
    inputs = {"key": np.array([0, 42], "uint32"), "typed": np.array([3, 0x89abcdef], "uint32"),
              "rbg": np.array([11, 22, 33, 44], "uint32"),
              # The lower half of this counter overflows after two blocks.
              "counter": np.array([11, 22, 2**32 - 2, 2**32 - 1], "uint32"), "step": np.array(5, "uint32"),
              "x": np.array([0, -0.0, 1, -1, 2.5, np.inf, np.nan, 5e-324])}
    arguments = [inputs["key"], random.wrap_key_data(inputs["typed"]), *list(inputs.values())[2:]]
    write(folder, "random", graph, inputs, arguments)
    # Small integers, so that every sum is exact.
    inputs = {"p.w": np.arange(24, dtype="float32") - 12, "x": np.arange(8 * 6 * 24, dtype="float32").reshape(8, 6, 24) % 7 + 1,
              "key": np.array([42, 0], "uint32"), "rbg": np.array([1, 2, 3, 4], "uint32")}
    write(folder, "masks", masks, inputs, [{"w": inputs["p.w"]}, *list(inputs.values())[1:]])


if __name__ == "__main__":
    main()
