# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp | FileCheck %s
"""Tests that dropout moves nothing: GPT-2 has the same conversions with it as without, and no rank draws more bits than it needs.

Hidden values are [8, 16, 32]; their masks have the part of them that a rank has. Masks of attention are shared by batch and heads: [1, 1, 16, 16].
"""
import json
import pathlib
import re
import subprocess
import sys

fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)

TENSOR = """tensor { axis: "tp" %s
  split { match: "*.attn.c_attn.kernel" dim: 0 groups: 3 } split { match: "*.attn.c_attn.bias" dim: 0 groups: 3 }
  split { match: "*.attn.c_proj.kernel" dim: 1 } split { match: "*.mlp.c_fc.kernel" dim: 0 }
  split { match: "*.mlp.c_fc.bias" dim: 0 } split { match: "*.mlp.c_proj.kernel" dim: 1 } split { match: "*.wte.embedding" dim: 0 } }"""
SEQUENCE = TENSOR % "sequence: true"
STRATEGIES = {
    "dp2": ({"dp": 2}, "", [4, 16, 32]),
    "tp2": ({"tp": 2}, TENSOR % "", [8, 16, 32]),
    "tp2+sequence": ({"tp": 2}, SEQUENCE, [8, 8, 32]),
    "dp2xtp2+sequence": ({"dp": 2, "tp": 2}, SEQUENCE, [4, 8, 32]),
    "dp4+zero3": ({"dp": 4}, 'zero { axes: "dp" stage: 3 }', [2, 16, 32]),
}


def compile(graph, strategy):
    """The conversions of the plan with their bytes, and the program of rank 0."""
    plan = folder / "plan.json"
    text = subprocess.run(["dist-opt", fixtures / f"{graph}.mlir", f"--strategy={strategy}", f"--plan={plan}", "--rank=0", "--quiet"],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    programs = json.loads(plan.read_text())["programs"]
    moved = sorted((move["kind"], tuple(move["axes"]), move["elements"], move["dtype"]) for program in programs
                   for move in program["conversions"])
    return moved, text


for name, (mesh, more, mask) in STRATEGIES.items():
    strategy = folder / f"{name}.textproto"
    axes = " ".join(f'axes {{ name: "{axis}" size: {size} }}' for axis, size in mesh.items())
    data = 'data { axes: "dp" }' if "dp" in mesh else ""
    strategy.write_text(f'mesh {{ {axes} }} {data} model {{ parameters: "p.*" batch {{ inputs: "ids" }} }}\n'
                        f"train {{ sgd {{ lr {{ constant: 0.1 }} }} }} {more}\n")
    without, _ = compile("gpt2-tiny-f64", strategy)
    moved, text = compile("gpt2-dropout-tiny-f64", strategy)
    assert moved == without, f"{name}: {set(moved) ^ set(without)}"
    # The rounds of threefry are the only operations that differ words: on keys, on masks of hidden values and of attention.
    drawn = {tuple(map(int, shape.rstrip("x").split("x"))) for shape in re.findall(r"net.xor .* : tensor<((?:\d+x)+)ui32>", text)}
    drawn = {shape for shape in drawn if len(shape) > 1}
    assert drawn == {tuple(mask), (1, 1, 16, 16)}, f"{name}: masks of {drawn}, not of {mask}"
    # Words stay inside kernels; between them are masks, and scalars of keys.
    stored = set(re.findall(r"tensor<((?:\d+x)*)ui(?:32|64)>", " ".join(re.findall(r"dist.yield .*", text))))
    large = {shape for shape in stored if shape.count("x") > 1 and shape != "1x1x16x16x"}
    assert not large, f"{name}: words of {large} are stored"
    print(f"{name}: {len(moved)} conversions with and without dropout")
# CHECK: dp2: {{[1-9][0-9]*}} conversions with and without dropout
# CHECK: tp2: {{[1-9][0-9]*}} conversions
# CHECK: tp2+sequence: {{[1-9][0-9]*}} conversions
# CHECK: dp2xtp2+sequence: {{[1-9][0-9]*}} conversions
# CHECK: dp4+zero3: {{[1-9][0-9]*}} conversions
