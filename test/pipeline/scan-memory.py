# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests that of a scan over layers whose parameters are sharded a rank has one layer's parameters at a time, however many there are, and of the
gradients its share alone; that what travels is what the definition of the stages says; and that as much is kept for backward as of layers that
are written out."""
import json
import pathlib
import re
import sys

from commands import run

GRAPH = pathlib.Path(__file__).resolve().parent.parent / "fixtures" / "scan-gpt-tiny-f64.mlir"
RANKS, DEPTHS = 4, (3, 33)
STRATEGY = """
mesh { axes { name: "dp" size: 4 } } data { axes: "dp" }
model { parameters: "p.*" batch { inputs: "ids" } unroll_loops: %s }
zero { axes: "dp" stage: %d }
train { sgd { lr { constant: 0.1 } } }
"""


def plan(folder, depth, stage, unroll="false"):
    """The plan for so many layers; the graph's own are 3, and no other dimension or constant of i64 is that."""
    text = GRAPH.read_text(encoding="utf-8").replace("tensor<3x", f"tensor<{depth}x")
    (folder / "graph.mlir").write_text(text.replace("dense<3> : tensor<i64>", f"dense<{depth}> : tensor<i64>"), encoding="utf-8")
    (folder / "strategy.textproto").write_text(STRATEGY % (unroll, stage))
    run("dist-opt", folder / "graph.mlir", f"--strategy={folder}/strategy.textproto", f"--plan={folder}/plan.json", "--to=schedule",
        "-o", "/dev/null", "--quiet")
    return json.loads((folder / "plan.json").read_text())


def count_bytes(depth):
    """The bytes of the parameters in stacks, and of all other parameters."""
    shapes = re.findall(r"%arg\d+: tensor<([0-9x]+)xf64>", GRAPH.read_text(encoding="utf-8").split("func.func public @main", 1)[1].split("->")[0])
    stacked = other = 0
    for shape in shapes:
        elements = 8
        for size in shape.split("x"):
            elements *= int(size)
        if shape.startswith("3x"):
            stacked += elements // 3 * depth
        else:
            other += elements
    return stacked, other


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: {found}, not {expected}")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    share = lambda size: size * (RANKS - 1) // RANKS
    for stage in (2, 3):
        plans = {depth: plan(folder, depth, stage) for depth in DEPTHS}
        memory = {depth: entry["programs"][0]["memory"] for depth, entry in plans.items()}
        few, many = (count_bytes(depth) for depth in DEPTHS)
        # For every further layer a rank has its share of the gradients, and no fetched parameter.
        expect(f"stage {stage}: gradients", memory[33]["gradients"] - memory[3]["gradients"], (many[0] - few[0]) // RANKS)
        expect(f"stage {stage}: fetched", memory[33]["fetched"], memory[3]["fetched"])
        for depth in DEPTHS:
            stacked, other = count_bytes(depth)
            kinds = plans[depth]["totals"]["by_kind"]
            expect(f"stage {stage}, {depth} layers: reduced", kinds["c_reducescatter"]["bytes"], share(stacked + other))
            if stage == 2:
                expect(f"{depth} layers: gathered", kinds["c_allgather"]["bytes"], share(stacked + other))
    rolled, unrolled = (plan(folder, 33, 2, unroll)["programs"][0]["memory"]["kept_for_backward"] for unroll in ("false", "true"))
    expect("kept for backward", rolled, unrolled)


if __name__ == "__main__":
    main()
