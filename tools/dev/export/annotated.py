# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Exports whole AdamW steps with Shardy's annotations, as `jax.jit(step, in_shardings=...)` makes them.

    annotated.py FOLDER             writes NETWORK-STYLE.step.mlir for all
    annotated.py --xla NETWORK STYLE   prints what XLA's own partitioning of that text sends, by kind

Styles on a mesh of 2 x 2 devices, axes `data` and `model`: `megatron` splits heads and hidden features over `model`, `fsdp` every parameter
over `data` along its first dimension that divides, `both` does both, and `sequence` is `both` with the sequence between the layers split
over `model` by constraints inside the network.
"""
import argparse
import os
import pathlib
import re

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import optax  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

NETWORKS = ("gpt2-tiny-f64", "llama-tiny-f64")
STYLES = ("megatron", "fsdp", "both", "sequence")
# The dimension that is split over `model`, by the end of a parameter's path.
COLUMNS = re.compile(r"(c_attn|c_fc|attention/[qkv]|gate|up)/kernel$|(c_attn|c_fc)/bias$")
ROWS = re.compile(r"(c_proj|attention/o|down)/kernel$")


def make_mesh():
    import numpy

    return Mesh(numpy.array(jax.devices()).reshape(2, 2), ("data", "model"))


def get_path(path):
    return "/".join(str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key)))) for key in path)


def place(style, path, shape):
    """The axes of each dimension of a parameter, or of state that has its path's end and its shape."""
    dims = [None] * len(shape)
    if style != "fsdp":
        # Flax's Conv1D of GPT-2 keeps kernels transposed.
        transposed = "c_attn" in path or "c_fc" in path or "c_proj" in path
        if COLUMNS.search(path):
            dims[0 if transposed else len(shape) - 1] = "model"
        elif ROWS.search(path):
            dims[1 if transposed else 0] = "model"
    if style != "megatron":
        free = [dim for dim, size in enumerate(shape) if dims[dim] is None and size % 2 == 0]
        if free and len(shape) > 1:
            dims[free[0]] = "data"
    return PartitionSpec(*dims)


def constrain_layers(mesh, name):
    """Splits the sequence between layers over `model`: the output of every block is constrained."""
    spec = NamedSharding(mesh, PartitionSpec("data", "model", None))
    constrain = lambda x: jax.lax.with_sharding_constraint(x, spec)
    if name.startswith("llama"):
        import llama

        plain = llama.layer
        llama.layer = lambda p, x, heads, groups: constrain(plain(p, x, heads, groups))
        return
    from transformers.models.gpt2 import modeling_flax_gpt2

    block = modeling_flax_gpt2.FlaxGPT2Block
    plain = block.__call__

    def call(self, hidden_states, *args, **kwargs):
        outputs = plain(self, hidden_states, *args, **kwargs)
        return (constrain(outputs[0]), *outputs[1:])

    block.__call__ = call


def lower(name, style):
    import models
    import reference

    jax.config.update("jax_enable_x64", name.endswith("-f64"))
    jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/(site-packages|dev)/")
    mesh = make_mesh()
    if style == "sequence":
        constrain_layers(mesh, name)
    network = models.NETWORKS[name]()
    optimizer = reference.optimizers(network.parameters, None)["adamw"]

    def step(p, opt_state, ids):
        loss, gradients = jax.value_and_grad(network.loss)(p, ids)
        updates, opt_state = optimizer.update(gradients, opt_state, p)
        return optax.apply_updates(p, updates), opt_state, loss

    state = jax.eval_shape(optimizer.init, network.parameters)
    shard = lambda tree: jax.tree_util.tree_map_with_path(
        lambda path, leaf: NamedSharding(mesh, place("both" if style == "sequence" else style, get_path(path), leaf.shape)), tree)
    parameters, states = shard(network.parameters), shard(state)
    batches = [NamedSharding(mesh, PartitionSpec("data")) for _ in network.inputs]
    whole = NamedSharding(mesh, PartitionSpec())
    jitted = jax.jit(step, in_shardings=(parameters, states, *batches), out_shardings=(parameters, states, whole), donate_argnums=(0, 1))
    return jitted.lower(network.parameters, state, *network.inputs.values())


BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8}


def count_sent(text):
    """Bytes that a device sends by ring algorithms for each kind of collective in an optimized HLO module."""
    sent = {}
    for line in text.splitlines():
        found = re.search(r"= (\(?.*?\)?) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(-start)?\(", line)
        if not found:
            continue
        result, kind, start = found.groups()
        group = re.search(r"replica_groups=(?:\{\{([\d,]*)\}|\[(\d+),(\d+)\])", line)
        members = 2 if not group else len(group[1].split(",")) if group[1] is not None else int(group[3])
        shapes = re.findall(r"(\w+)\[([\d,]*)\]", result)
        if start and kind == "all-gather":
            shapes = shapes[len(shapes) // 2:]
        size = 0
        for dtype, dims in shapes:
            elements = 1
            for dim in filter(None, dims.split(",")):
                elements *= int(dim)
            size += elements * BYTES[dtype]
        factor = {"all-reduce": 2 * (members - 1) / members, "all-gather": (members - 1) / members, "reduce-scatter": members - 1,
                  "all-to-all": (members - 1) / members, "collective-permute": 1}[kind]
        count, total = sent.get(kind, (0, 0))
        sent[kind] = count + 1, total + size * factor
    return sent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    parser.add_argument("--xla", nargs=2, metavar=("NETWORK", "STYLE"))
    parser.add_argument("--only", nargs=2, metavar=("NETWORK", "STYLE"))
    args = parser.parse_args()
    if args.xla:
        sent = count_sent(lower(*args.xla).compile().as_text())
        print(f"{args.xla[0]} {args.xla[1]}: {sum(size for _, size in sent.values()):.0f} bytes",
              " ".join(f"{kind} {count}" for kind, (count, _) in sorted(sent.items())))
        return
    for name in NETWORKS:
        for style in STYLES:
            if args.only and args.only != [name, style]:
                continue
            # Each in a process of its own: constraints are patched into the networks.
            if not args.only:
                status = os.spawnl(os.P_WAIT, os.sys.executable, os.sys.executable, __file__, str(args.folder), "--only", name, style)
                if status:
                    raise SystemExit(status)
                continue
            path = args.folder / f"{name}-{style}.step.mlir"
            path.write_text(lower(name, style).as_text(debug_info=True) + "\n", encoding="utf-8")
            print(path.name)


if __name__ == "__main__":
    main()
