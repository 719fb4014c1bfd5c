# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what GPT-2 without dropout makes of the parameters that it trains with dropout: `evaluation.py FIXTURES`.

reference/gpt2-evaluation.safetensors: `losses`, before the first step of AdamW and after each of 5, each the mean of two batches. Batches are those of
the folders of both networks under reference/.
"""

import argparse
import pathlib

import jax
import numpy as np
import optax
from safetensors.numpy import load_file, save_file

TRAINED, EVALUATED = "gpt2-dropout-tiny-f64", "gpt2-tiny-f64"
STEPS, BATCHES = 5, 2


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder / "reference"
    jax.config.update("jax_enable_x64", True)
    import models
    import reference

    trained, evaluated = models.NETWORKS[TRAINED](), models.NETWORKS[EVALUATED]()
    parameters = reference.draw_parameters(trained.parameters, seed=1)
    optimizer = reference.optimizers(parameters, None)["adamw"]
    state, gradient, loss = optimizer.init(parameters), jax.jit(jax.grad(trained.loss)), jax.jit(evaluated.loss)
    load = lambda network, index: load_file(folder / network / f"batch{index}.safetensors")

    def evaluate():
        return np.mean([loss(parameters, **load(EVALUATED, index)) for index in range(BATCHES)])

    losses = [evaluate()]
    for index in range(STEPS):
        updates, state = optimizer.update(gradient(parameters, **load(TRAINED, index)), state, parameters)
        parameters = optax.apply_updates(parameters, updates)
        losses.append(evaluate())
    save_file({"losses": np.asarray(losses)}, folder / "gpt2-evaluation.safetensors")
    print(*(f"{value:.12f}" for value in losses))


if __name__ == "__main__":
    main()
