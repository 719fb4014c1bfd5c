# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Times a training step of a network of the fixtures in JAX: `jax_step.py NETWORK STEPS` prints one JSON object.

The step is what examples/gpt says: the loss, its gradient and AdamW, compiled as one function that reuses its arguments' memory.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "export"))

import jax  # noqa: E402
import models  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402


def decays(path, _):
    return str(getattr(path[-1], "key", path[-1])) == "kernel"


def main():
    network = models.NETWORKS[sys.argv[1]]()
    steps = int(sys.argv[2])
    rng = np.random.default_rng(0)
    parameters = jax.tree.map(lambda leaf: jax.numpy.asarray(0.02 * rng.standard_normal(leaf.shape), leaf.dtype), network.parameters)
    mask = jax.tree_util.tree_map_with_path(decays, parameters)
    optimizer = optax.adamw(1e-4, b1=0.9, b2=0.95, eps=1e-8, weight_decay=0.1, mask=mask)
    state = optimizer.init(parameters)

    def step(parameters, state, batch):
        loss, gradient = jax.value_and_grad(network.loss)(parameters, *batch)
        update, state = optimizer.update(gradient, state, parameters)
        return optax.apply_updates(parameters, update), state, loss

    batch = list(network.draw(rng).values())
    start = time.perf_counter()
    lowered = jax.jit(step, donate_argnums=(0, 1)).lower(parameters, state, batch)
    traced = time.perf_counter()
    compiled = lowered.compile()
    ready = time.perf_counter()
    seconds = []
    for _ in range(steps):
        begin = time.perf_counter()
        parameters, state, loss = compiled(parameters, state, batch)
        jax.block_until_ready((parameters, loss))
        seconds.append(time.perf_counter() - begin)
    print(json.dumps({"trace": traced - start, "compile": ready - traced, "seconds": seconds, "loss": float(loss)}))


if __name__ == "__main__":
    main()
