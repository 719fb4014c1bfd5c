# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports whole Adam steps with a shard_map inside, which JAX runs on 4 devices: `shard_map_steps.py FIXTURES`.

STEP.mlir                   the step as StableHLO text
reference/STEP.safetensors  `init/NAME` and `batchN/NAME`, `losses` of 5 steps, and `final/NAME` after them

experts-step      a mixture of experts, one per device: tokens go to their expert by an all-to-all, and back by another one
projection-step   an MLP: weights in parts over `dp` are gathered before use, products over `tp` are summed, and rows travel by a permutation
partial-step      the same mesh, of which the shard_map has `dp` alone; annotations split parameters and products over `tp`
"""
import argparse
import os
import pathlib

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402
from jax.sharding import NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

from annotated import count_sent  # noqa: E402

STEPS = 5


def make_mesh(sizes, names):
    return jax.make_mesh(sizes, names, axis_types=(jax.sharding.AxisType.Auto,) * len(sizes))


class Experts:
    """Every token goes to one expert, which has room for so many of each device; who finds none is left out."""
    name, experts, room, width = "experts-step", 4, 3, 8
    mesh = make_mesh((4,), ("ep",))

    @classmethod
    def parameters(cls):
        return {"router": (cls.width, cls.experts), "up": (cls.experts, cls.width, 2 * cls.width), "down": (cls.experts, 2 * cls.width, cls.width)}

    inputs = {"x": (32, 8), "y": (32, 8)}

    @classmethod
    def loss(cls, p, x, y):
        def mix(router, up, down, x):
            scores = jax.nn.softmax(x @ router)
            chosen = jnp.argmax(scores, axis=-1)
            mask = jax.nn.one_hot(chosen, cls.experts, dtype=x.dtype)
            place = ((jnp.cumsum(mask, axis=0) - mask) * mask).sum(-1).astype(jnp.int32)
            places = mask[:, :, None] * jax.nn.one_hot(place, cls.room, dtype=x.dtype)[:, None, :]
            sent = jnp.einsum("tec,td->ecd", places, x)
            # From [expert, place] of this device's tokens to [device, place] of this device's expert.
            received = jax.lax.all_to_all(sent, "ep", split_axis=0, concat_axis=1, tiled=True)
            hidden = jax.nn.relu(jnp.einsum("ecd,edh->ech", received, up))
            answers = jnp.einsum("ech,ehd->ecd", hidden, down)
            back = jax.lax.all_to_all(answers, "ep", split_axis=1, concat_axis=0, tiled=True)
            asked = jax.lax.pmean(mask.mean(0), "ep")
            cost = jnp.sum(asked * jax.lax.pmean(scores.mean(0), "ep"))
            return jnp.einsum("tec,te,ecd->td", places, scores, back), cost

        mixed, cost = jax.shard_map(mix, mesh=cls.mesh, in_specs=(P(), P("ep"), P("ep"), P("ep")), out_specs=(P("ep"), P()))(
            p["router"], p["up"], p["down"], x)
        return jnp.mean((x + mixed - y) ** 2) + 0.01 * cost


class Projection:
    name = "projection-step"
    mesh = make_mesh((2, 2), ("dp", "tp"))
    inputs = {"x": (8, 8), "y": (8, 4)}

    @classmethod
    def parameters(cls):
        return {"w1": (8, 16), "b1": (16,), "w2": (16, 4), "b2": (4,)}

    @classmethod
    def loss(cls, p, x, y):
        def project(p, x, y):
            w1 = jax.lax.all_gather(p["w1"], "dp", axis=0, tiled=True)
            h = jnp.tanh(x @ w1 + p["b1"])
            # Rows of the other half of the batch, and back: what is between works on them elsewhere.
            swap = [(0, 1), (1, 0)]
            h = jax.lax.ppermute(jnp.sin(jax.lax.ppermute(h, "dp", swap)), "dp", swap)
            o = jax.lax.psum(h @ p["w2"], "tp") + p["b2"]
            scale = 1 + jax.lax.axis_index("dp").astype(x.dtype)
            return jax.lax.psum(jnp.sum(scale * (o - y) ** 2), "dp") / y.size / 2

        weights = {"w1": P("dp", "tp"), "b1": P("tp"), "w2": P("tp", None), "b2": P(None)}
        return jax.shard_map(project, mesh=cls.mesh, in_specs=(weights, P("dp", None), P("dp", None)), out_specs=P())(p, x, y)


class Partial(Projection):
    name = "partial-step"
    weights = {"w1": P(None, "tp"), "b1": P("tp"), "w2": P("tp", None), "b2": P()}

    @classmethod
    def loss(cls, p, x, y):
        def project(p, x, y):
            h = jnp.tanh(x @ p["w1"] + p["b1"])
            h = jax.lax.with_sharding_constraint(h, NamedSharding(jax.sharding.get_abstract_mesh(), P(None, "tp")))
            o = h @ p["w2"] + p["b2"]
            return jax.lax.psum(jnp.sum((o - y) ** 2), "dp") / y.size / 2

        return jax.shard_map(project, mesh=cls.mesh, in_specs=(P(), P("dp"), P("dp")), out_specs=P(), axis_names={"dp"})(p, x, y)


def export(network, folder):
    draw = np.random.default_rng(7)
    initial = {name: 0.3 * draw.standard_normal(shape) for name, shape in network.parameters().items()}
    batches = [{name: draw.standard_normal(shape) for name, shape in network.inputs.items()} for _ in range(STEPS)]
    optimizer = optax.adam(1e-2)

    def step(p, opt_state, x, y):
        value, gradients = jax.value_and_grad(network.loss)(p, x, y)
        updates, opt_state = optimizer.update(gradients, opt_state, p)
        return optax.apply_updates(p, updates), opt_state, value

    parameters = jax.tree.map(jnp.asarray, initial)
    state, losses = optimizer.init(parameters), []
    options = {}
    if network is Partial:
        place = lambda path, leaf: NamedSharding(network.mesh, network.weights[path[-1].key] if leaf.ndim else P())
        trees = [jax.tree_util.tree_map_with_path(place, tree) for tree in (parameters, state)]
        batch, whole = (NamedSharding(network.mesh, spec) for spec in (P("dp"), P()))
        options = {"in_shardings": (*trees, batch, batch), "out_shardings": (*trees, whole)}
        parameters, state = (jax.tree.map(jax.device_put, tree, shardings) for tree, shardings in zip((parameters, state), trees))
    jitted = jax.jit(step, donate_argnums=(0, 1), **options)
    lowered = jitted.lower(parameters, state, *batches[0].values())
    (folder / f"{network.name}.mlir").write_text(lowered.as_text(debug_info=True) + "\n", encoding="utf-8")
    sent = count_sent(lowered.compile().as_text())
    print(f"{network.name}: {sum(size for _, size in sent.values()):.0f} bytes", sent)
    for batch in batches:
        parameters, state, value = jitted(parameters, state, *batch.values())
        losses.append(float(value))
    numbers = {f"init/p.{name}": value for name, value in initial.items()}
    numbers |= {f"batch{index}/{name}": value for index, batch in enumerate(batches) for name, value in batch.items()}
    numbers |= {f"final/p.{name}": np.asarray(value) for name, value in parameters.items()}
    save_file(numbers | {"losses": np.asarray(losses)}, folder / "reference" / f"{network.name}.safetensors")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    jax.config.update("jax_enable_x64", True)
    # Locations name files as packages do, not as the machine that exported did.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/(site-packages|dev)/")
    for network in (Experts, Projection, Partial):
        export(network, folder)


if __name__ == "__main__":
    main()
