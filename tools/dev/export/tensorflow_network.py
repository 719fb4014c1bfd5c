# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports a network of TensorFlow, and what TensorFlow itself makes of it: `tensorflow_network.py FOLDER`.

tensorflow-tiny-f64.mlir              the loss of a small transformer, as `tf.function(jit_compile=True)` gives its StableHLO
reference/tensorflow-tiny-f64/*       as reference.py writes them, by TensorFlow's own derivatives and Adam

TensorFlow calls all arguments alike; their names are put into the text here. Needs tensorflow-cpu 2.21.0 and safetensors.
"""

import os
import pathlib
import re
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

import numpy as np
import tensorflow as tf
from safetensors.numpy import save_file

VOCABULARY, WIDTH, HEADS, LAYERS, LENGTH, BATCH = 61, 16, 4, 2, 12, 8
STEPS_SAVED, STEPS = 3, 5
RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.95, 1e-8


def shapes():
    """The parameters by name."""
    parameters = {"wte": (VOCABULARY, WIDTH), "wpe": (LENGTH, WIDTH), "norm.scale": (WIDTH,), "norm.bias": (WIDTH,), "head": (WIDTH, VOCABULARY)}
    for layer in range(LAYERS):
        for name, shape in {"norm1.scale": (WIDTH,), "norm1.bias": (WIDTH,), "q": (WIDTH, HEADS, WIDTH // HEADS), "k": (WIDTH, HEADS, WIDTH // HEADS),
                            "v": (WIDTH, HEADS, WIDTH // HEADS), "o": (HEADS, WIDTH // HEADS, WIDTH), "norm2.scale": (WIDTH,), "norm2.bias": (WIDTH,),
                            "up": (WIDTH, 4 * WIDTH), "up_bias": (4 * WIDTH,), "down": (4 * WIDTH, WIDTH)}.items():
            parameters[f"h.{layer}.{name}"] = shape
    return parameters


def normalize(x, p, name):
    mean, variance = tf.nn.moments(x, axes=[-1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, p[name + ".bias"], p[name + ".scale"], 1e-5)


def loss_of(p, ids):
    """The cross entropy of every token but the first."""
    x = tf.gather(p["wte"], ids) + p["wpe"]
    past = tf.linalg.band_part(tf.ones((LENGTH, LENGTH), tf.bool), -1, 0)
    for layer in range(LAYERS):
        name = f"h.{layer}."
        y = normalize(x, p, name + "norm1")
        q, k, v = (tf.einsum("btd,dhe->bhte", y, p[name + key]) for key in ("q", "k", "v"))
        scores = tf.einsum("bhte,bhse->bhts", q, k) / np.sqrt(WIDTH // HEADS)
        weights = tf.nn.softmax(tf.where(past, scores, tf.cast(-1e9, tf.float64)))
        x += tf.einsum("bhts,bhse,hed->btd", weights, v, p[name + "o"])
        x += tf.nn.gelu(normalize(x, p, name + "norm2") @ p[name + "up"] + p[name + "up_bias"], approximate=False) @ p[name + "down"]
    logits = normalize(x, p, "norm") @ p["head"]
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(ids[:, 1:], logits[:, :-1]))


def export(parameters, ids):
    """The text, arguments called as JAX would: `p['h']['0']['q']`."""
    names = list(parameters)
    compiled = tf.function(lambda ids, *values: loss_of(dict(zip(names, values)), ids), jit_compile=True)
    text = compiled.experimental_get_compiler_ir(ids, *parameters.values())(stage="stablehlo")
    called = ["ids"] + ["p" + "".join(f"['{key}']" for key in name.split(".")) for name in names]
    head, rest = text.split(" @main(", 1)
    rest = re.sub(r'(%arg(\d+): tensor<[^>]*>(?: \{[^}]*\})?) loc\("XLA_Args"\)', lambda match: f'{match[1]} loc("{called[int(match[2])]}")', rest, count=len(called))
    return f"{head} @main({rest}"


def train(parameters, folder):
    """Adam by its formula: the optimizers of Keras 3 add epsilon before the correction of the bias."""
    rng = np.random.default_rng(2)
    folder.mkdir(parents=True, exist_ok=True)
    variables = {name: tf.Variable(value) for name, value in parameters.items()}
    named = lambda prefix, values: {prefix + name: np.ascontiguousarray(value) for name, value in values.items()}
    save_file(named("p.", {name: value.numpy() for name, value in variables.items()}), folder / "init.safetensors")
    first, second, losses = dict.fromkeys(variables, 0.0), dict.fromkeys(variables, 0.0), []
    for step in range(STEPS):
        ids = rng.integers(0, VOCABULARY, (BATCH, LENGTH), dtype="int32")
        save_file({"ids": ids}, folder / f"batch{step}.safetensors")
        with tf.GradientTape() as tape:
            loss = loss_of(variables, tf.constant(ids))
        gradients = {name: tf.convert_to_tensor(value) for name, value in tape.gradient(loss, variables).items()}
        losses.append(loss.numpy())
        if step == 0:
            save_file({"loss": np.asarray(losses[0])} | named("grad/p.", {name: value.numpy() for name, value in gradients.items()}),
                      folder / "gradients.safetensors")
        for name, gradient in gradients.items():
            first[name] = BETA1 * first[name] + (1 - BETA1) * gradient
            second[name] = BETA2 * second[name] + (1 - BETA2) * gradient**2
            scaled = first[name] / (1 - BETA1**(step + 1)), second[name] / (1 - BETA2**(step + 1))
            variables[name].assign_sub(RATE * scaled[0] / (tf.sqrt(scaled[1]) + EPSILON))
        if step + 1 == STEPS_SAVED:
            saved = {name: value.numpy() for name, value in variables.items()}
    save_file({"losses": np.asarray(losses)} | named("p.", saved), folder / "adam.safetensors")
    for path in folder.iterdir():
        path.chmod(0o644)
    print(*(f"{loss:.12f}" for loss in losses))


def main():
    folder = pathlib.Path(sys.argv[1])
    rng = np.random.default_rng(1)
    parameters = {name: tf.constant(0.1 * rng.standard_normal(shape) + name.endswith("scale")) for name, shape in shapes().items()}
    text = export(parameters, tf.zeros((BATCH, LENGTH), tf.int32))
    # Locations name files as packages do, not as the machine that exported did.
    text = re.sub(r'"[^"\n]*/(site-packages|dev)/', '"', text)
    (folder / "tensorflow-tiny-f64.mlir").write_text(text if text.endswith("\n") else text + "\n")
    train(parameters, folder / "reference" / "tensorflow-tiny-f64")


if __name__ == "__main__":
    main()
