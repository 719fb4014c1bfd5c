# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A network of rows.py in JAX. `jax_step.py ROW --export FOLDER` writes the forward loss as text and a batch. Without it the program reads
numbers of steps, a line each, and takes so many steps of AdamW, compiled as one function that reuses its arguments' memory. Each answer is a
line with one JSON object.
"""
import argparse
import json
import os
import sys
import time

import jax
import numpy as np
import optax
import rows
from jax_networks import make
from safetensors.numpy import save_file


def export(network, folder):
    with open(os.path.join(folder, "model.mlir"), "w", encoding="utf-8") as file:
        file.write(jax.jit(network.loss, keep_unused=True).lower(network.parameters, *network.inputs.values()).as_text(debug_info=True))
    save_file(network.draw(np.random.default_rng(0)), os.path.join(folder, "batch.safetensors"))


def serve(network, count):
    rng = np.random.default_rng(0)
    parameters = jax.tree.map(lambda leaf: jax.numpy.asarray(0.02 * rng.standard_normal(leaf.shape), leaf.dtype), network.parameters)
    optimizer = optax.adamw(1e-4, b1=0.9, b2=0.95, eps=1e-8, weight_decay=0.1)
    state = optimizer.init(parameters)

    def step(parameters, state, batch):
        loss, gradient = jax.value_and_grad(network.loss)(parameters, *batch)
        update, state = optimizer.update(gradient, state, parameters)
        return optax.apply_updates(parameters, update), state, loss

    batch = [jax.numpy.asarray(array) for array in network.draw(rng).values()]
    start = time.perf_counter()
    lowered = jax.jit(step, donate_argnums=(0, 1)).lower(parameters, state, batch)
    traced = time.perf_counter()
    compiled = lowered.compile()
    ready = time.perf_counter()
    memory = compiled.memory_analysis()
    answer = {"parameters": count, "trace": traced - start, "compile": ready - traced, "bytes": memory.argument_size_in_bytes + memory.temp_size_in_bytes}
    for line in sys.stdin:
        seconds = []
        for _ in range(int(line)):
            begin = time.perf_counter()
            parameters, state, loss = compiled(parameters, state, batch)
            jax.block_until_ready((parameters, loss))
            seconds.append(time.perf_counter() - begin)
        print(json.dumps(answer | {"seconds": seconds, "loss": float(loss)}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("row", choices=rows.ROWS)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--export")
    args = parser.parse_args()
    network = make(rows.find(args.row, args.quick))
    count = sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(network.parameters))
    if args.export:
        export(network, args.export)
        print(json.dumps({"parameters": count}))
    else:
        serve(network, count)


if __name__ == "__main__":
    main()
