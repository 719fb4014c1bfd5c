# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports one graph of all that draws random bits, and what JAX computes of it on a CPU: `random_bits.py FOLDER`.

random.mlir               the graph; threefry in both of JAX's modes, the generator of bits, and what derives keys
random.batch.safetensors  its inputs: a key for each of them, and a step
random.safetensors        its results by name
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
        "normal": random.normal(second, (4, 5), jnp.float64), "integers": random.randint(third, (6,), -5, 100),
    }


def keys(key, step):
    return {
        "folded": random.key_data(random.fold_in(key, step)), "folded_constant": random.key_data(random.fold_in(key, 7)),
        "split": random.key_data(random.split(key, 4)), "mask": random.bernoulli(random.fold_in(key, step), 0.5, (2, 8)),
    }


def generated(key):
    """What the generator itself gives: its next state, and elements of every width."""
    results = {}
    for name, shape, dtype in (("words", (3, 5), "uint32"), ("wide", (5,), "uint64"), ("short", (2, 3), "uint16"),
                               ("bytes", (9,), "uint8"), ("scalar", (), "uint32")):
        results[f"{name}_state"], results[name] = lax.rng_bit_generator(
            key, shape, dtype, algorithm=lax.RandomAlgorithm.RNG_PHILOX)
    return results


def graph(key, typed, rbg, counter, step):
    groups = {"threefry": draws(key), "typed": keys(typed, step), "generated": generated(rbg),
              "carried": generated(counter), "rbg": keys(random.wrap_key_data(rbg, impl="rbg"), step)}
    with jax.threefry_partitionable(False):
        groups |= {"original": draws(key), "original_keys": keys(key, step)}
    return {f"{group}_{name}": value for group, results in groups.items() for name, value in results.items()}


def main():
    folder = pathlib.Path(sys.argv[1])
    inputs = {"key": np.array([0, 42], "uint32"), "typed": np.array([3, 0x89abcdef], "uint32"),
              "rbg": np.array([11, 22, 33, 44], "uint32"),
              # The lower half of this counter overflows after two blocks.
              "counter": np.array([11, 22, 2**32 - 2, 2**32 - 1], "uint32"), "step": np.array(5, "uint32")}
    arguments = [inputs["key"], random.wrap_key_data(inputs["typed"]), *list(inputs.values())[2:]]
    (folder / "random.mlir").write_text(jax.jit(graph).lower(*arguments).as_text(debug_info=True))
    save_file(inputs, folder / "random.batch.safetensors")
    results = jax.jit(graph)(*arguments)
    save_file({name: np.array(value, order="C") for name, value in results.items()}, folder / "random.safetensors")


if __name__ == "__main__":
    main()
