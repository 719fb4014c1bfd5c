# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes what JAX and optax make of a tiny network: `reference.py NETWORK FOLDER`.

init.safetensors       initial parameters, drawn from a fixed seed by numpy
batchN.safetensors     the inputs of step N
gradients.safetensors  `loss` and every `grad/NAME` of step 0
OPTIMIZER.safetensors  every parameter after 3 steps, and `losses` of 5 steps; for `clip` the `norms` of its gradients too

With `--long` 20 steps, whose batches are those five over and over, and of the parameters only those of at most 600 elements;
with `--small` of parameters and gradients only those, and no initial parameters.
With `--merge` OPTIMIZER-merge4.safetensors: three updates, each with the mean gradient of four steps, and `norms` of those means.
"""

import argparse
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import optax
import optax.contrib
from safetensors.numpy import save_file

STEPS_SAVED, STEPS, LONG = 3, 5, 20
SMALL = 600
MERGED, UPDATES = 4, 3
# What the norm of the gradients is bounded by: some of the first steps exceed it, others do not.
BOUNDS = {"gpt2-tiny-f64": 1.2, "mlp-tiny-f64": 0.3, "bert-tiny-f64": 1.0}
MERGED_BOUNDS = {"gpt2-tiny-f64": 0.7, "mlp-tiny-f64": 0.15}


def is_kernel(path):
    return path[-1].key == "kernel"


def optimizers(parameters, bound):
    kernels = jax.tree_util.tree_map_with_path(lambda path, _: is_kernel(path), parameters)
    return {
        "sgd": optax.sgd(0.1),
        "bf16": optax.sgd(0.1),
        "clip": optax.chain(optax.clip_by_global_norm(bound or 1.0), optax.sgd(0.1)),
        "momentum": optax.sgd(0.1, momentum=0.9),
        "adam": optax.adam(1e-3, b1=0.9, b2=0.95, eps=1e-8),
        "adamw": optax.adamw(1e-3, b1=0.9, b2=0.95, eps=1e-8, weight_decay=0.1, mask=kernels),
    }


def adafactor(rate):
    """optax.adafactor, which counts in f32, in f64."""
    decay = lambda count, exponent: 1 - jnp.asarray(count + 1, jnp.float64) ** -exponent
    return optax.chain(
        optax.scale_by_factored_rms(min_dim_size_to_factor=12, epsilon=1e-10, decay_rate_fn=decay),
        optax.clip_by_block_rms(1.0), optax.scale_by_learning_rate(rate, flip_sign=False),
        optax.scale_by_param_block_rms(), optax.add_decayed_weights(1e-3), optax.scale(-1))


def averaged(optimizer, decay):
    """The optimizer, and a moving average of the parameters in its state."""

    def update(gradients, state, parameters):
        updates, inner = optimizer.update(gradients, state[0], parameters)
        new = optax.apply_updates(parameters, updates)
        return updates, (inner, optax.incremental_update(new, state[1], 1 - decay))

    return optax.GradientTransformation(lambda parameters: (optimizer.init(parameters), parameters), update)


def clip_each(bound):
    """Every gradient's own norm is bounded."""

    def update(gradients, state, parameters):
        return jax.tree.map(lambda g: optax.clip_by_global_norm(bound).update(g, optax.EmptyState())[0], gradients), state

    return optax.GradientTransformation(lambda parameters: optax.EmptyState(), update)


def grouped():
    """AdamW; twice the rate and no decay for biases, SGD for the other parameters of the first layer."""

    def label(path, _):
        return "bias" if path[-1].key == "bias" else "first" if path[0].key == "layer0" else "rest"

    adamw = lambda rate, decay: optax.adamw(rate, b1=0.9, b2=0.95, eps=1e-8, weight_decay=decay)
    return optax.partition({"bias": adamw(2e-3, 0.0), "first": optax.sgd(0.1), "rest": adamw(1e-3, 0.1)},
                           lambda parameters: jax.tree_util.tree_map_with_path(label, parameters))


def long_optimizers():
    return {
        "groups": grouped(),
        "clip-value": optax.chain(optax.clip(0.01), optax.sgd(0.1)),
        "clip-tensor": optax.chain(clip_each(0.1), optax.sgd(0.1)),
        "lion": optax.lion(1e-3, b1=0.9, b2=0.95, weight_decay=0.1),
        "lamb": optax.lamb(1e-2, b1=0.9, b2=0.95, eps=1e-6, weight_decay=0.1),
        "rmsprop": optax.rmsprop(1e-3, decay=0.9, eps=1e-8, momentum=0.9),
        "adagrad": optax.adagrad(1e-2, initial_accumulator_value=0.1, eps=1e-7),
        "adafactor": adafactor(1e-2),
        "muon": optax.contrib.muon(1e-2, eps=1e-6, weight_decay=0.1, adam_weight_decay=0.05),
        "l2": averaged(optax.chain(optax.add_decayed_weights(0.05), optax.adam(1e-3, b1=0.9, b2=0.95, nesterov=True)), 0.9),
    }


def draw_parameters(shapes, seed):
    """Small normal values; scales of normalizations around 1."""
    rng = np.random.default_rng(seed)

    def draw(path, leaf):
        values = 0.1 * rng.standard_normal(leaf.shape)
        # T5 calls its scales weights, and nothing else.
        return (values + (path[-1].key in ("scale", "weight"))).astype(leaf.dtype)

    return jax.tree_util.tree_map_with_path(draw, shapes)


def named(prefix, tree):
    """The leaves of a tree of dictionaries by dotted name."""
    leaves = jax.tree_util.tree_flatten_with_path(tree)[0]
    return {prefix + ".".join(key.key for key in path): np.asarray(leaf) for path, leaf in leaves}


def small(tensors):
    return {name: value for name, value in tensors.items() if value.size <= SMALL}


def train(gradient, optimizer, parameters, batches):
    """The parameters after STEPS_SAVED steps or the last one, the optimizer's state then, and all losses and norms of the gradients."""

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
        if index + 1 == (STEPS_SAVED if len(batches) == STEPS else LONG):
            saved = parameters, state
    return *saved, {"losses": np.asarray(losses), "norms": np.asarray(norms)}


def train_merged(gradient, optimizer, parameters, batches):
    """The parameters after UPDATES updates, all losses, and the norm of every mean gradient."""
    norms = []

    def update(gradients, state, parameters):
        jax.debug.callback(lambda norm: norms.append(np.asarray(norm)), optax.global_norm(gradients))
        return optimizer.update(gradients, state, parameters)

    steps = optax.MultiSteps(optax.GradientTransformation(optimizer.init, update), every_k_schedule=MERGED, accumulator_dtype=jnp.float64)
    state, losses = steps.init(parameters), []
    for index in range(MERGED * UPDATES):
        loss, gradients = gradient(parameters, *batches[index % len(batches)].values())
        updates, state = steps.update(gradients, state, parameters)
        parameters = optax.apply_updates(parameters, updates)
        losses.append(loss)
    jax.effects_barrier()
    # MultiSteps asks the optimizer in every step, and takes its answer in the last of each accumulation.
    return parameters, {"losses": np.asarray(losses), "norms": np.asarray(norms[MERGED - 1::MERGED])}


def mixed_mlp(p, x, y, dtype=jnp.bfloat16):
    """The loss of mlp-tiny with products in 16 bit, parameters converted to it, and what reduces in f32."""
    p, x = jax.tree.map(lambda leaf: leaf.astype(dtype), p), x.astype(dtype)
    for index in range(len(p)):
        layer = p[f"layer{index}"]
        x = x @ layer["kernel"] + layer["bias"]
        if index < len(p) - 1:
            x = jax.nn.relu(x)
    return -jnp.take_along_axis(jax.nn.log_softmax(x.astype(jnp.float32)), y[:, None], axis=-1).mean()


def mixed(name):
    """The loss of a network in bf16, as the network's library computes in it, with the parameters converted to it."""
    import models

    if name == "mlp-tiny":
        return mixed_mlp
    loss = models.NETWORKS[f"{name}-bf16"]().loss
    convert = lambda leaf: leaf.astype(jnp.bfloat16)
    return lambda p, *inputs: loss(jax.tree.map(convert, p), *inputs).astype(jnp.float32)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("network")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--optimizers", default="sgd,clip,momentum,adam,adamw")
    parser.add_argument("--long", action="store_true", help="20 steps, for what --optimizers names; no other files")
    parser.add_argument("--small", action="store_true", help="tensors of at most 600 elements, and no initial parameters")
    parser.add_argument("--merge", action="store_true", help="one update in four steps, for what --optimizers names; no other files")
    parser.add_argument("--bf16", action="store_true", help="mixed precision, for mlp-tiny and gpt2-tiny")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", arguments.network.endswith("-f64"))
    import models

    network = models.NETWORKS[arguments.network]()
    parameters = draw_parameters(network.parameters, seed=1)
    rng = np.random.default_rng(2)
    batches = [network.draw(rng) for _ in range(STEPS)]
    gradient = jax.jit(jax.value_and_grad(mixed(arguments.network) if arguments.bf16 else network.loss))
    loss, gradients = gradient(parameters, *batches[0].values())

    folder = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    if arguments.long:
        for name in arguments.optimizers.split(","):
            batches = (batches * LONG)[:LONG]
            saved, state, scalars = train(gradient, long_optimizers()[name], parameters, batches)
            kept = named("p.", saved) | (named("ema/p.", state[1]) if name == "l2" else {})
            kept = small(kept)
            save_file({"losses": scalars["losses"]} | kept, folder / f"{name}.safetensors")
            print(f"{arguments.network} {name}:", *(f"{loss:.6f}" for loss in scalars["losses"]))
        return
    if arguments.merge:
        for name in arguments.optimizers.split(","):
            optimizer = optimizers(parameters, MERGED_BOUNDS.get(arguments.network))[name]
            saved, scalars = train_merged(gradient, optimizer, parameters, batches)
            save_file(scalars | named("p.", saved), folder / f"{name}-merge{MERGED}.safetensors")
            print(f"{arguments.network} {name}, merged:", *(f"{loss:.12f}" for loss in scalars["losses"]), scalars["norms"])
        return
    keep = small if arguments.small else lambda tensors: tensors
    if not arguments.small:
        save_file(named("p.", parameters), folder / "init.safetensors")
    save_file({"loss": np.asarray(loss)} | keep(named("grad/p.", gradients)), folder / "gradients.safetensors")
    for index, batch in enumerate(batches):
        arrays = {name: np.ascontiguousarray(value) for name, value in batch.items()}
        save_file(arrays, folder / f"batch{index}.safetensors")
    for name in filter(None, arguments.optimizers.split(",")):
        optimizer = optimizers(parameters, BOUNDS.get(arguments.network))[name]
        saved, _, scalars = train(gradient, optimizer, parameters, batches)
        # Norms are of interest where they do something.
        kept = scalars if name == "clip" else {"losses": scalars["losses"]}
        save_file(kept | keep(named("p.", saved)), folder / f"{name}.safetensors")
        print(f"{arguments.network} {name}:", *(f"{loss:.12f} ({norm:.3f})" for loss, norm in zip(*scalars.values())))


if __name__ == "__main__":
    main()
