# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp
"""Tests what the stages of a GPT-2 of 8 blocks send each other, by the plan.

Between two neighbours one value goes forward and one back, of a micro-batch of what a rank has of the batch, in as many pieces as tensor parallelism
has ranks. The table that the first and the last stage share crosses once, and its gradient comes back once, with the parts that the ranks keep.
Nothing else crosses: no loss, no mask, no token.
"""
import json
import pathlib
import subprocess
import sys

BATCH, SEQUENCE, WIDTH, VOCABULARY, MICRO = 32, 16, 64, 128, 2
fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)

STRATEGY = """
mesh {{ axes {{ name: "dp" size: {dp} }} axes {{ name: "pp" size: {pp} }} axes {{ name: "tp" size: {tp} }} }}
model {{ parameters: "p.*" batch {{ inputs: "ids" }} }}
init {{ match: "*" normal {{ stddev: 0.02 }} }}
train {{ adamw {{ lr {{ constant: 1e-3 }} }} clip {{ global_norm: 1.0 }} }}
data {{ axes: "dp" }}
tensor {{
  axis: "tp"
  split {{ match: "*.wte.embedding" dim: 0 }}
  split {{ match: "*.attn.c_attn.*" dim: 0 groups: 3 }}
  split {{ match: "*.attn.c_proj.kernel" dim: 1 }}
  split {{ match: "*.mlp.c_fc.*" dim: 0 }}
  split {{ match: "*.mlp.c_proj.kernel" dim: 1 }}
}}
pipeline {{ axis: "pp" micro_batches: {micro} }}
"""


def find_sends(sizes, *options):
    """By number of elements how many sends the plan has."""
    strategy = folder / "strategy.textproto"
    strategy.write_text(STRATEGY.format(micro=MICRO, **sizes))
    subprocess.run(["dist-opt", fixtures / "gpt2-8.mlir", f"--strategy={strategy}", f"--plan={folder}/plan.json", "-o",
                    folder / "module.mlir", *options], check=True)
    plan = json.loads((folder / "plan.json").read_text())
    # A send is in the programs of both stages.
    found = {}
    for program in plan["programs"]:
        for conversion in program["conversions"]:
            if conversion["kind"] == "c_send":
                found[conversion["elements"]] = found.get(conversion["elements"], 0) + 1
    if any(count % 2 for count in found.values()):
        sys.exit(f"{sizes}: a send is in one program alone: {found}")
    return {size: count // 2 for size, count in found.items()}


for sizes in ({"dp": 1, "pp": 2, "tp": 1}, {"dp": 1, "pp": 2, "tp": 2}, {"dp": 2, "pp": 2, "tp": 2}, {"dp": 1, "pp": 4, "tp": 2}):
    activation = BATCH // sizes["dp"] // MICRO * SEQUENCE * WIDTH
    table = VOCABULARY * WIDTH // sizes["tp"]
    for options, pieces in (((), sizes["tp"]), (("--no-optimize",), 1)):
        found = find_sends(sizes, *options)
        expected = {}
        for size, count in ((activation // pieces, 2 * (sizes["pp"] - 1)), (table, 2)):
            expected[size] = expected.get(size, 0) + count
        if found != expected:
            sys.exit(f"{sizes} {options}: sends of so many elements are {found}, not {expected}")
