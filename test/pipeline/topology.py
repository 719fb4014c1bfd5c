# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp
"""Tests that a topology says which ranks are near each other: the order of the axes decides what leaves a node, by counting ranks here, and the
step does the same whatever the order.
"""
import itertools
import json
import pathlib
import sys

from commands import run

fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)
SIZES = {"pp": 2, "dp": 2, "tp": 2}

STRATEGY = """
mesh {{ axes {{ name: "pp" size: 2 }} axes {{ name: "dp" size: 2 }} axes {{ name: "tp" size: 2 }} }}
{topology}
model {{ parameters: "p.*" batch {{ inputs: "ids" }} }}
init {{ match: "*" normal {{ stddev: 0.02 }} }}
train {{ momentum {{ lr {{ constant: 1e-2 }} }} clip {{ global_norm: 1.0 }} }}
data {{ axes: "dp" }}
tensor {{
  axis: "tp"
  split {{ match: "*.wte.embedding" dim: 0 }}
  split {{ match: "*.mlp.c_fc.*" dim: 0 }}
  split {{ match: "*.mlp.c_proj.kernel" dim: 1 }}
}}
pipeline {{ axis: "pp" micro_batches: 2 }}
"""


def compile_with(topology, *options):
    strategy = folder / "strategy.textproto"
    strategy.write_text(STRATEGY.format(topology=topology))
    run("dist-opt", fixtures / "gpt2-tiny-f64.mlir", f"--strategy={strategy}", f"--plan={folder}/plan.json", *options)
    return json.loads((folder / "plan.json").read_text())


def count_nodes(order, axes, per_node):
    """Over how many nodes groups along `axes` are spread where ranks are counted with the first axis of `order` fastest."""
    groups = {}
    for rank in range(8):
        coordinates, left = {}, rank
        for axis in order:
            coordinates[axis] = left % SIZES[axis]
            left //= SIZES[axis]
        groups.setdefault(tuple(coordinates[axis] for axis in order if axis not in axes), set()).add(rank // per_node)
    return max(len(nodes) for nodes in groups.values())


seen = set()
for order in itertools.permutations(SIZES):
    for per_node in (1, 2, 4, 8):
        plan = compile_with(f'topology {{ ranks_per_node: {per_node} order: "{" ".join(order)}" }}', "-o", folder / "out.mlir")
        between = 0
        kinds = {}
        for conversion in plan["programs"][0]["conversions"]:
            expected = count_nodes(order, conversion["axes"], per_node)
            if conversion["nodes"] != expected:
                sys.exit(f"{order}, {per_node} a node: {conversion['axes']} is on {expected} nodes, not {conversion['nodes']}")
            seen.add((tuple(conversion["axes"]), expected))
        total = plan["totals"]
        if per_node == 8 and total["bytes_between_nodes"] != 0 or per_node == 1 and total["bytes_between_nodes"] != total["bytes"]:
            sys.exit(f"{per_node} ranks a node: {total['bytes_between_nodes']} of {total['bytes']} bytes leave a node")
        names = [axis["name"] for axis in plan["mesh"]]
        if names != list(reversed(order)):
            sys.exit(f"the mesh of {order} is {names}")
if len({axes for axes, _ in seen}) < 3:
    sys.exit(f"only {seen} were seen")
if "nodes" in compile_with("", "-o", folder / "out.mlir")["programs"][0]["conversions"][0]:
    sys.exit("nodes are counted though nobody said what they are")

# The same step: two orders, against the serial program.
for order in ("tp dp pp", "pp tp dp"):
    compile_with(f'topology {{ order: "{order}" }}', f"--emit={folder}/package")
    run("dist-run", folder / "package", f"--data=ids={__file__}:u8", "--steps=2", "--check-serial")
