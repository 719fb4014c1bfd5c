# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what JAX and optax make of mlp-tiny in f16 with a dynamic scale of the loss: `loss_scale.py FOLDER`.

init.safetensors     initial parameters
batchN.safetensors   the inputs of step N; in the steps of BAD an element of one sample is infinite in f16
dynamic.safetensors  per step `scales`, `found` (an infinite gradient), `skipped` (steps so far) and `losses`, and the parameters after all steps

The rule of the scale is written out here: halved, but not below MINIMUM, when HYSTERESIS steps were skipped, doubled after WINDOW steps in a
row that were not. A skipped step leaves parameters and optimizer as they were.
"""
import argparse
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import save_file

import models
from reference import draw_parameters, mixed_mlp, named

STEPS, BAD = 10, (2, 3, 4)
INITIAL, WINDOW, HYSTERESIS, MINIMUM = 1024.0, 2, 2, 64.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    network = models.NETWORKS["mlp-tiny"]()
    parameters = draw_parameters(network.parameters, seed=1)
    save_file(named("p.", parameters), folder / "init.safetensors")
    rng = np.random.default_rng(2)
    optimizer = optax.chain(optax.clip_by_global_norm(0.5), optax.sgd(0.1, momentum=0.9))
    state = optimizer.init(parameters)
    gradient = jax.jit(jax.value_and_grad(lambda p, scale, x, y: scale * mixed_mlp(p, x, y, jnp.float16)))
    scale, good, left, skipped = INITIAL, 0, HYSTERESIS, 0
    scalars = {"scales": [], "found": [], "skipped": [], "losses": []}
    for step in range(STEPS):
        batch = network.draw(rng)
        if step in BAD:
            batch["x"][5, 3] = 1e6
        save_file(batch, folder / f"batch{step}.safetensors")
        loss, gradients = gradient(parameters, scale, *batch.values())
        gradients = jax.tree.map(lambda g: g / scale, gradients)
        found = not all(np.isfinite(g).all() for g in jax.tree.leaves(gradients))
        scalars["scales"].append(scale)
        scalars["losses"].append(float(loss) / scale)
        if found:
            good, left, skipped = 0, max(left - 1, 0), skipped + 1
            scale = max(scale / 2, MINIMUM) if left == 0 else scale
        else:
            updates, state = optimizer.update(gradients, state, parameters)
            parameters = optax.apply_updates(parameters, updates)
            good += 1
            if good == WINDOW:
                good, left, scale = 0, HYSTERESIS, scale * 2
        scalars["found"].append(float(found))
        scalars["skipped"].append(skipped)
    save_file({name: np.array(values, "float64") for name, values in scalars.items()} | named("p.", parameters), folder / "dynamic.safetensors")
    print("mlp-tiny in f16:", *(f"{scale:g}{'!' if bad else ''}" for scale, bad in zip(scalars["scales"], scalars["found"])))


if __name__ == "__main__":
    main()
