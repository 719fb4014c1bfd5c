# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what JAX and optax make of a tiny network: `reference.py NETWORK FOLDER`.

init.safetensors       initial parameters, drawn from a fixed seed by numpy
batchN.safetensors     the inputs of step N
gradients.safetensors  `loss` and every `grad/NAME` of step 0
OPTIMIZER.safetensors  every parameter after 3 steps, and `losses` of 5 steps; for `clip` the `norms` of its gradients too
"""

import argparse
import pathlib

import jax
import numpy as np
import optax
from safetensors.numpy import save_file

STEPS_SAVED, STEPS = 3, 5
# What the norm of the gradients is bounded by: some of the first steps exceed it, others do not.
BOUNDS = {"gpt2-tiny-f64": 1.2, "mlp-tiny-f64": 0.3, "bert-tiny-f64": 1.0}


def is_kernel(path):
    return path[-1].key == "kernel"


def optimizers(parameters, bound):
    kernels = jax.tree_util.tree_map_with_path(lambda path, _: is_kernel(path), parameters)
    return {
        "sgd": optax.sgd(0.1),
        "clip": optax.chain(optax.clip_by_global_norm(bound), optax.sgd(0.1)),
        "momentum": optax.sgd(0.1, momentum=0.9),
        "adam": optax.adam(1e-3, b1=0.9, b2=0.95, eps=1e-8),
        "adamw": optax.adamw(1e-3, b1=0.9, b2=0.95, eps=1e-8, weight_decay=0.1, mask=kernels),
    }


def draw_parameters(shapes, seed):
    """Small normal values; scales of normalizations around 1."""
    rng = np.random.default_rng(seed)

    def draw(path, leaf):
        values = 0.1 * rng.standard_normal(leaf.shape)
        return (values + (path[-1].key == "scale")).astype(leaf.dtype)

    return jax.tree_util.tree_map_with_path(draw, shapes)


def named(prefix, tree):
    """The leaves of a tree of dictionaries by dotted name."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {prefix + ".".join(key.key for key in path): np.asarray(leaf) for path, leaf in leaves}


def train(gradient, optimizer, parameters, batches):
    """The parameters after STEPS_SAVED steps, and all losses and norms of the gradients."""

    @jax.jit
    def step(parameters, state, *batch):
        loss, gradients = gradient(parameters, *batch)
        updates, state = optimizer.update(gradients, state, parameters)
        return loss, optax.global_norm(gradients), optax.apply_updates(parameters, updates), state

    state, losses, norms = optimizer.init(parameters), [], []
    for index, batch in enumerate(batches):
        # One by one, because jit hands a dictionary on in the order of its keys.
        loss, norm, parameters, state = step(parameters, state, *batch.values())
        losses.append(loss)
        norms.append(norm)
        if index + 1 == STEPS_SAVED:
            saved = parameters
    return saved, {"losses": np.asarray(losses), "norms": np.asarray(norms)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--optimizers", default="sgd,clip,momentum,adam,adamw")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", arguments.network.endswith("-f64"))
    import models

    network = models.NETWORKS[arguments.network]()
    parameters = draw_parameters(network.parameters, seed=1)
    rng = np.random.default_rng(2)
    batches = [network.draw(rng) for _ in range(STEPS)]
    gradient = jax.jit(jax.value_and_grad(network.loss))
    loss, gradients = gradient(parameters, *batches[0].values())

    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    save_file(named("p.", parameters), folder / "init.safetensors")
    save_file({"loss": np.asarray(loss)} | named("grad/p.", gradients), folder / "gradients.safetensors")
    for index, batch in enumerate(batches):
        arrays = {name: np.ascontiguousarray(value) for name, value in batch.items()}
        save_file(arrays, folder / f"batch{index}.safetensors")
    for name in arguments.optimizers.split(","):
        optimizer = optimizers(parameters, BOUNDS[arguments.network])[name]
        saved, scalars = train(gradient, optimizer, parameters, batches)
        # Norms are of interest where they do something.
        kept = scalars if name == "clip" else {"losses": scalars["losses"]}
        save_file(kept | named("p.", saved), folder / f"{name}.safetensors")
        print(f"{arguments.network} {name}:", *(f"{loss:.12f} ({norm:.3f})" for loss, norm in zip(*scalars.values())))


if __name__ == "__main__":
    main()
