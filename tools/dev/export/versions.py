# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports one small step with the JAX that runs this, of whatever version: `versions.py FOLDER`.

jax-VERSION.mlir          a loss and its gradients, in f64, with names, calls, masks, and random numbers by a loop
jax.batch.safetensors     its inputs
jax.safetensors           its results by name, the same in all versions
"""

import json
import pathlib
import struct
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/(site-packages|dev)/")
# What later versions do by themselves.
jax.config.update("jax_threefry_partitionable", True)

WIDTH, WORDS, LENGTH, BATCH = 8, 11, 6, 4


def layer_norm(p, x):
    x = x - x.mean(-1, keepdims=True)
    return p["scale"] * x * lax.rsqrt(jnp.square(x).mean(-1, keepdims=True) + 1e-5) + p["bias"]


@jax.jit
def attend(p, x):
    q, k, v = jnp.split(x @ p["qkv"], 3, axis=-1)
    scores = jnp.einsum("bqd,bkd->bqk", q, k) / np.sqrt(WIDTH)
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool))
    return jax.nn.softmax(jnp.where(mask, scores, -1e9)) @ v


def loss(p, ids, key):
    x = p["embedding"][ids]
    for block in p["blocks"]:
        with jax.named_scope("attention"):
            x = x + attend(block, layer_norm(block["norm"], x))
        keep = jax.random.bernoulli(key, 0.9, x.shape)
        x = jnp.where(keep, jax.nn.gelu(x) / 0.9, 0)
    logits = jax.nn.log_softmax(x @ p["embedding"].T)
    hit = (logits.argmax(-1)[:, :-1] == ids[:, 1:]).mean(dtype=jnp.float64)
    return -jnp.take_along_axis(logits[:, :-1], ids[:, 1:, None], axis=-1).mean(), hit


def make_parameters():
    random = np.random.default_rng(5)
    block = lambda: {"qkv": 0.3 * random.standard_normal((WIDTH, 3 * WIDTH)),
                     "norm": {"scale": 1 + 0.1 * random.standard_normal(WIDTH), "bias": 0.1 * random.standard_normal(WIDTH)}}
    return {"embedding": random.standard_normal((WORDS, WIDTH)), "blocks": [block(), block()]}


def write_safetensors(path, tensors):
    """By hand: old versions of JAX come without the package."""
    header, data = {}, b""
    for name, value in sorted(tensors.items()):
        value = np.array(value, order="C")
        dtype = {"float64": "F64", "int32": "I32", "uint32": "U32"}[str(value.dtype)]
        header[name] = {"dtype": dtype, "shape": value.shape, "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main(folder):
    p = make_parameters()
    ids = np.random.default_rng(6).integers(0, WORDS, (BATCH, LENGTH), np.int32)
    key = np.array([0, 42], np.uint32)
    step = jax.jit(jax.value_and_grad(loss, has_aux=True))
    lowered = step.lower(p, ids, key)
    module = lowered.compiler_ir("stablehlo")
    (folder / f"jax-{jax.__version__}.mlir").write_text(module.operation.get_asm(enable_debug_info=True) + "\n")
    (value, hit), gradients = step(p, ids, key)
    results = {f"0.{i}": np.asarray(x) for i, x in enumerate((value, hit))}
    inputs = {"ids": ids, "key": key}
    for path, x in jax.tree_util.tree_flatten_with_path(p)[0]:
        name = ".".join(str(getattr(k, "key", getattr(k, "idx", None))) for k in path)
        inputs["p." + name] = x
    for path, x in jax.tree_util.tree_flatten_with_path(gradients)[0]:
        results["1." + ".".join(str(getattr(k, "key", getattr(k, "idx", None))) for k in path)] = np.asarray(x)
    write_safetensors(folder / "jax.batch.safetensors", inputs)
    write_safetensors(folder / "jax.safetensors", results)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
