# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what optax makes of sum(sin(w)) in 8 steps, for every optimizer and schedule: `optimizers.py FOLDER`.

NAME.safetensors holds `w`, the values before every step and after the last, and `lr`, the learning rate of every step.
"""

import argparse
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import optax
from safetensors.numpy import save_file

STEPS = 8
START = [1.0, -2.0, 0.25]


def in_f64(schedule):
    """The schedule of a count in f64; optax divides 32-bit counts in f32 even where everything else is of f64."""
    return lambda count: schedule(jnp.asarray(count, dtype=jnp.float64))


def warmup(start, peak, steps):
    return optax.join_schedules(
        [optax.linear_schedule(start, peak, steps), optax.constant_schedule(peak)], [steps])


def cases():
    constant = optax.constant_schedule(0.1)
    ramp = in_f64(warmup(0.0, 0.1, 3))
    cosine = in_f64(optax.warmup_cosine_decay_schedule(0.01, 0.1, 2, 6, end_value=0.02))
    return {
        "sgd": (optax.sgd(constant), constant),
        "sgd-warmup": (optax.sgd(ramp), ramp),
        "momentum": (optax.sgd(constant, momentum=0.75), constant),
        "nesterov-warmup_cosine": (optax.sgd(cosine, momentum=0.75, nesterov=True), cosine),
        "adam-warmup": (optax.adam(ramp, b1=0.8, b2=0.9, eps=1e-3), ramp),
        "adamw-warmup_cosine": (optax.adamw(cosine, b1=0.8, b2=0.9, eps=1e-3, weight_decay=0.5), cosine),
    }


def run(optimizer, schedule):
    weights = jnp.asarray(START)
    state, values, rates = optimizer.init(weights), [weights], []
    for step in range(STEPS):
        updates, state = optimizer.update(jnp.cos(weights), state, weights)
        weights = optax.apply_updates(weights, updates)
        values.append(weights)
        rates.append(schedule(jnp.asarray(step)))
    return {"w": np.asarray(values), "lr": np.asarray(rates, dtype=np.float64)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    for name, (optimizer, schedule) in cases().items():
        save_file(run(optimizer, schedule), arguments.folder / f"{name}.safetensors")


if __name__ == "__main__":
    main()
