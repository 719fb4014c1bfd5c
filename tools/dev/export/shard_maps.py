# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports small programs that a user could write with shard_map, right and with one mistake each, and the serial programs that they mean.

    python shard_maps.py FOLDER        writes FOLDER/partitioned/NAME.{serial,right,MISTAKE}.mlir
"""
import argparse
import os
import pathlib

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"

import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P

RATE = 0.125


def make_mesh(sizes, names):
    return jax.make_mesh(sizes, names, axis_types=(jax.sharding.AxisType.Auto,) * len(sizes))


def struct(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


class Mlp:
    """A step of gradient descent, column and row parallel over tp, data parallel over dp, with the backward pass by hand."""
    mistakes = ("missing-psum", "other-axis", "pmean", "double", "bias-per-rank")
    arguments = ({"w1": struct(4, 8), "b1": struct(8), "w2": struct(8, 4), "b2": struct(4)}, struct(8, 4), struct(8, 4))

    @staticmethod
    def serial(p, x, y):
        def loss(p):
            return jnp.mean((jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"] - y) ** 2)
        value, gradient = jax.value_and_grad(loss)(p)
        return jax.tree.map(lambda w, g: w - RATE * g, p, gradient), value

    @staticmethod
    def partitioned(mistake):
        def step(p, x, y):
            h = jnp.tanh(x @ p["w1"] + p["b1"])
            o = h @ p["w2"]
            if mistake == "pmean":
                o = jax.lax.pmean(o, "tp") + p["b2"]
            elif mistake == "bias-per-rank":
                o = jax.lax.psum(o + p["b2"], "tp")
            elif mistake == "missing-psum":
                o = o + p["b2"]
            else:
                o = jax.lax.psum(o, "tp") + p["b2"]
            elements = 2 * x.shape[0] * o.shape[1]
            d = 2 * (o - y) / elements
            dz = (d @ p["w2"].T) * (1 - h * h)
            gradient = {"w1": x.T @ dz, "b1": dz.sum(0), "w2": h.T @ d, "b2": d.sum(0)}
            gradient = {name: jax.lax.psum(g, "tp" if mistake == "other-axis" and name == "w2" else "dp") for name, g in gradient.items()}
            if mistake == "double":
                gradient["b1"] = jax.lax.psum(gradient["b1"], "dp")
            loss = jax.lax.psum(jnp.sum((o - y) ** 2), "dp") / elements
            return jax.tree.map(lambda w, g: w - RATE * g, p, gradient), loss
        weights = {"w1": P(None, "tp"), "b1": P("tp"), "w2": P("tp", None), "b2": P(None)}
        return jax.shard_map(step, mesh=make_mesh((2, 2), ("dp", "tp")), in_specs=(weights, P("dp", None), P("dp", None)), out_specs=(weights, P()), check_vma=False)


class Ring:
    """A product with rows that travel around a ring: every rank multiplies what passes with its own columns."""
    mistakes = ("permutation", "slice")
    arguments = (struct(8, 4), struct(4, 8))

    @staticmethod
    def serial(x, w):
        return jnp.tanh(x @ w)

    @staticmethod
    def partitioned(mistake):
        ranks, step = 4, -1 if mistake == "permutation" else 1

        def multiply(x, w):
            own = jax.lax.axis_index("tp")

            def turn(i, state):
                rows, product = state
                source = (own - i + (1 if mistake == "slice" else 0)) % ranks
                product = jax.lax.dynamic_update_slice(product, rows @ w, (source * rows.shape[0], 0))
                return jax.lax.ppermute(rows, "tp", [(j, (j + step) % ranks) for j in range(ranks)]), product
            return jnp.tanh(jax.lax.fori_loop(0, ranks, turn, (x, jnp.zeros((ranks * x.shape[0], w.shape[1]))))[1])
        return jax.shard_map(multiply, mesh=make_mesh((ranks,), ("tp",)), in_specs=(P("tp", None), P(None, "tp")), out_specs=P(None, "tp"), check_vma=False)


class Attention:
    """Attention over a split sequence: an all-to-all over both axes brings whole sequences of some heads together, and another one back."""
    mistakes = ("no-exchange", "other-heads")
    arguments = (struct(8, 4, 2), struct(8, 4, 2), struct(8, 4, 2))

    @staticmethod
    def serial(q, k, v):
        return jnp.einsum("hst,thd->shd", jax.nn.softmax(jnp.einsum("shd,thd->hst", q, k)), v)

    @staticmethod
    def partitioned(mistake):
        axes = ("dp", "tp")

        def attend(q, k, v):
            if mistake == "no-exchange":
                return Attention.serial(q, k, v)
            q, k, v = (jax.lax.all_to_all(x, axes, 1, 0, tiled=True) for x in (q, k, v))
            if mistake == "other-heads":
                k = jax.lax.ppermute(k, "tp", [(0, 1), (1, 0)])
            return jax.lax.all_to_all(Attention.serial(q, k, v), axes, 0, 1, tiled=True)
        return jax.shard_map(attend, mesh=make_mesh((2, 2), axes), in_specs=P(axes), out_specs=P(axes), check_vma=False)


class Shards:
    """A step with parameters in parts: gathered before use, and gradients summed to the part of each rank."""
    mistakes = ("not-summed", "twice-the-mean")
    arguments = (struct(8, 4), struct(8, 8))

    @staticmethod
    def serial(w, x):
        value, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
        return w - RATE * gradient, value, jnp.max(x)

    @staticmethod
    def partitioned(mistake):
        def step(part, x):
            w = jax.lax.all_gather(part, "dp", axis=0, tiled=True)
            value, gradient = jax.value_and_grad(lambda w: jnp.mean((x @ w) ** 2))(w)
            if mistake == "not-summed":
                gradient = jax.lax.dynamic_slice_in_dim(gradient, jax.lax.axis_index("dp") * part.shape[0], part.shape[0])
            else:
                gradient = jax.lax.psum_scatter(gradient, "dp", scatter_dimension=0, tiled=True) / 2
            if mistake == "twice-the-mean":
                gradient = gradient / 2
            return part - RATE * gradient, jax.lax.pmean(value, "dp"), jax.lax.pmax(jnp.max(x), "dp")

        def whole(w, x):
            # Operations outside of the part per rank, too.
            new, value, most = jax.shard_map(step, mesh=make_mesh((2, 2), ("dp", "tp")), in_specs=(P("dp", None), P("dp", None)), out_specs=(P("dp", None), P(), P()), check_vma=False)(w, x * 1.0)
            return new, value + 0.0, most
        return whole


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder / "partitioned"
    folder.mkdir(parents=True, exist_ok=True)

    # Locations name files as packages do, not as the machine that exported did.
    jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/(site-packages|dev)/")

    def write(name, function, arguments, **options):
        (folder / f"{name}.mlir").write_text(jax.jit(function).lower(*arguments).as_text(**options))

    for network in (Mlp, Ring, Attention, Shards):
        name = network.__name__.lower()
        write(f"{name}.serial", network.serial, network.arguments)
        write(f"{name}.right", network.partitioned(""), network.arguments)
        for mistake in network.mistakes:
            write(f"{name}.{mistake}", network.partitioned(mistake), network.arguments)
    # With the names of arguments, and in the form before Shardy.
    write("mlp.named-serial", Mlp.serial, Mlp.arguments, debug_info=True)
    write("mlp.named", Mlp.partitioned(""), Mlp.arguments, debug_info=True)
    jax.config.update("jax_use_shardy_partitioner", False)
    write("mlp.older", Mlp.partitioned(""), Mlp.arguments)
    write("mlp.older-missing-psum", Mlp.partitioned("missing-psum"), Mlp.arguments)


if __name__ == "__main__":
    main()
