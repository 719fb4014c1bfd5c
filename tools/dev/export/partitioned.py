# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Converts what XLA's partitioner leaves to StableHLO that dist-verify compares with the serial graph.

    python partitioned.py module.after_spmd-partitioning.txt -o partitioned.mlir
    python partitioned.py --network gpt2-tiny -o gpt2-tiny.xla.mlir
    python partitioned.py --network gpt2-adamw-step -o gpt2-adamw-step.xla.mlir

The text is the HLO of the pass spmd-partitioning, which XLA writes with XLA_FLAGS="--xla_dump_to=FOLDER --xla_dump_hlo_as_text
--xla_dump_hlo_pass_re=spmd-partitioning". With --network, a network of models.py, or a whole step of steps.py, is partitioned for a mesh of 2x2
ranks with tensor parallel blocks, and converted.
"""
import argparse
import itertools
import math
import os
import pathlib
import re
import sys
import tempfile


def expand_groups(text):
    """Groups along axes of a mesh, `mesh['a'=2,'b'=2] {'a'}`, as lists of ranks."""
    def expand(found):
        axes = re.findall(r"'([^']+)'=(\d+)", found[1])
        named = re.findall(r"'([^']+)'", found[2])
        sizes = [int(size) for _, size in axes]
        inside = [[name for name, _ in axes].index(name) for name in named]
        outside = [i for i in range(len(axes)) if i not in inside]

        def rank(coordinates):
            return sum(c * math.prod(sizes[i + 1:]) for i, c in enumerate(coordinates))

        def every(numbers):
            return itertools.product(*(range(sizes[i]) for i in numbers))
        groups = []
        for fixed in every(outside):
            members = []
            for moving in every(inside):
                where = dict(zip(outside, fixed)) | dict(zip(inside, moving))
                members.append(rank([where[i] for i in range(len(axes))]))
            groups.append("{" + ",".join(map(str, members)) + "}")
        return "replica_groups={" + ",".join(groups) + "}"
    return re.sub(r"replica_groups=mesh\[([^\]]*)\] \{([^}]*)\}", expand, text)


def convert(text):
    """StableHLO text of an HLO module."""
    from jax._src.interpreters.mlir import make_ir_context
    from jax.extend.mlir import hlo_to_stablehlo
    from jaxlib import _hlo
    from jaxlib.mlir import ir

    module = _hlo.hlo_module_from_text(expand_groups(text))
    with make_ir_context():
        parsed = ir.Module.parse(hlo_to_stablehlo(module.as_serialized_hlo_module_proto()))
        stablehlo = str(parsed)
    # A copy computes nothing. Names of values are unique within a function, and so are those of these texts.
    for result, operand in re.findall(r"^ *(%\w+) = mhlo\.copy (%\w+) .*$", stablehlo, re.M):
        stablehlo = re.sub(rf"^ *{result} = mhlo\.copy .*\n", "", stablehlo, flags=re.M)
        stablehlo = re.sub(rf"{re.escape(result)}\b", operand, stablehlo)
    return stablehlo if stablehlo.endswith("\n") else stablehlo + "\n"


def partition(name):
    """The HLO of a network, or of a whole training step, as XLA partitions it."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=4 --xla_dump_to={folder} --xla_dump_hlo_as_text --xla_dump_hlo_pass_re=spmd-partitioning"
        import jax
        from jax.sharding import NamedSharding, PartitionSpec as P

        jax.config.update("jax_enable_x64", "f64" in name or name.endswith("-step"))
        import models
        import steps
        mesh = jax.make_mesh((2, 2), ("dp", "tp"), axis_types=(jax.sharding.AxisType.Auto,) * 2)

        def place(path, leaf):
            key = jax.tree_util.keystr(path)
            # Flax keeps kernels of GPT-2 as outputs x inputs.
            if re.search(r"c_attn|c_fc", key):
                return NamedSharding(mesh, P("tp", *(None,) * (len(leaf.shape) - 1)))
            return NamedSharding(mesh, P(None, "tp") if re.search(r"c_proj'\]\['kernel", key) else P())

        if name.endswith("-step"):
            network, step = steps.make_steps()[name]
            function, state = step.function, list(step.state.values())
        else:
            network = models.NETWORKS[name]()
            function, state = network.loss, [network.parameters]
        places = jax.tree_util.tree_map_with_path(place, state)
        results = NamedSharding(mesh, P())
        jax.jit(function, in_shardings=(*places, *(NamedSharding(mesh, P("dp")) for _ in network.inputs)),
                out_shardings=(*places, results) if name.endswith("-step") else results).lower(*state, *network.inputs.values()).compile()
        written = [path for path in pathlib.Path(folder).iterdir() if f"jit_{function.__name__}" in path.name and "after_spmd-partitioning" in path.name]
        return max(written).read_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hlo", nargs="?", type=pathlib.Path, help="the text of a partitioned HLO module")
    parser.add_argument("--network", help="partition this network of models.py or step of steps.py instead")
    parser.add_argument("-o", default="-", help="the file; - is standard output")
    arguments = parser.parse_args()
    if (arguments.hlo is None) == (arguments.network is None):
        parser.error("name a file of HLO, or a network")
    text = convert(partition(arguments.network) if arguments.network else arguments.hlo.read_text())
    if arguments.o == "-":
        sys.stdout.write(text)
    else:
        pathlib.Path(arguments.o).write_text(text)


if __name__ == "__main__":
    main()
