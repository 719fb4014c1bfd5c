# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %source/examples/gpt2 %tmp | FileCheck %s
"""Tests what the plans of a 12-layer GPT-2 move, on the graph that JAX exported, against bounds from closed formulas.

Bytes are those of ring algorithms on axes of two ranks, where an all-reduce of B bytes sends B and a gather or a scatter half of it.
With P bytes of parameters, A bytes of one activation (batch, sequence, width), L layers:

  data parallel       every gradient once                                       P
  tensor parallel     4 activations per layer, the embedding's, the head's      (4 L + 2) A
  with sequence       the same, as gathers and scatters, and what is left of the norms' and positions' gradients

and what a step needs for the loss and the softmax over a split vocabulary, which is small. The products of the busiest rank are
held against the serial ones.
"""
import json
import pathlib
import re
import subprocess
import sys

import numpy

fixtures, examples, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)

LAYERS, WIDTH, VOCABULARY, BATCH, SEQUENCE = 12, 768, 50257, 8, 128
ACTIVATION = 4 * BATCH * SEQUENCE * WIDTH
NORMS = 4 * 2 * (2 * LAYERS + 1) * WIDTH
ROWS = 4 * BATCH * SEQUENCE


def count_parameters():
    layer = 12 * WIDTH * WIDTH + 13 * WIDTH
    return LAYERS * layer + (VOCABULARY + SEQUENCE) * WIDTH + 2 * WIDTH


def plan(name, edit=lambda text: text):
    strategy = folder / f"{name}.textproto"
    strategy.write_text(edit((examples / f"{name.split('+')[0]}.textproto").read_text()))
    done = subprocess.run(["dist-opt", fixtures / "gpt2-12.mlir", f"--strategy={strategy}", f"--plan={folder}/plan.json", "-o",
                           folder / "module.mlir"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stdout)
    return json.loads((folder / "plan.json").read_text()), done.stdout


def check(name, conversions, least, most, edit=lambda text: text):
    result, log = plan(name, edit)
    totals, program = result["totals"], result["programs"][0]
    if not least <= totals["bytes"] <= most:
        sys.exit(f"{name}: {totals['bytes']} bytes are not between {least} and {most}")
    if totals["conversions"] > conversions:
        sys.exit(f"{name}: {totals['conversions']} conversions are more than {conversions}")
    ranks = int(numpy.prod([axis["size"] for axis in result["mesh"]]))
    ratio = program["flops"] * ranks / result["serial_flops"]
    if ratio > 1.05:
        sys.exit(f"{name}: a rank computes {ratio:.3f} of its share")
    # No layout of the arena needs less than what lives at the busiest moment; this one wastes next to nothing beside it.
    arena = program["peak_bytes"] - program["persistent_bytes"]
    if not program["live_bytes"] <= arena <= 1.01 * program["live_bytes"]:
        sys.exit(f"{name}: {program['live_bytes']} bytes live at the peak but the arena has {arena}")
    state = sum(variable["bytes_per_rank"] for variable in result["variables"])
    if not state <= program["persistent_bytes"] <= 1.01 * state:
        sys.exit(f"{name}: variables have {state} bytes but {program['persistent_bytes']} are persistent")
    print(f"{name}: {totals['conversions']} conversions, {totals['bytes'] / 1e6:.1f} MB, {ratio:.3f} of the share,",
          " ".join(f"{kind} {total['count']}" for kind, total in totals["by_kind"].items()))
    return program["conversions"], log


parameters = 4 * count_parameters()
tensor = (4 * LAYERS + 2) * ACTIVATION

# Every gradient is reduced once, the tied embedding too, and the loss.
# CHECK: dp2: 149 conversions, 495.0 MB, 1.00{{[0-9]}} of the share, c_allreduce 149
found, _ = check("dp2", 149, parameters, parameters + 4)
if sum(conversion["elements"] == VOCABULARY * WIDTH for conversion in found) != 1:
    sys.exit("the tied embedding is not reduced once")

# Two reductions forward and two backward per layer; outside of the layers the embedding, the maximum, the sum of exponentials, the loss, and
# the head.
# CHECK: tp2: 53 conversions, 157.3 MB, 1.00{{[0-9]}} of the share, c_allreduce 53
found, _ = check("tp2", 54, tensor, tensor + 8 * ROWS)
if any("attn" in conversion["value"] and "c_proj" not in conversion["value"] and conversion["role"] == "forward"
       for conversion in found):
    sys.exit("something is converted between c_attn and c_proj")

# CHECK: dp2-tp2: 201 conversions, 326.5 MB, 1.00{{[0-9]}} of the share, c_allreduce 201
whole = 4 * (VOCABULARY * WIDTH + LAYERS * (12 * WIDTH * WIDTH + 7 * WIDTH)) / 2
whole += 4 * (SEQUENCE * WIDTH + 2 * WIDTH + LAYERS * 6 * WIDTH)
check("dp2-tp2", 202, whole + tensor / 2, 1.01 * (whole + tensor / 2))

# CHECK: tp2-sequence: 153 conversions, 157.4 MB, 1.00{{[0-9]}} of the share, c_allgather {{.*}} c_allreduce {{.*}} c_reducescatter
check("tp2-sequence", 154, tensor, tensor + NORMS + 8 * ROWS)

# CHECK: dp2-tp2-sequence: 251 conversions, 326.5 MB, 1.00{{[0-9]}} of the share
check("dp2-tp2-sequence", 252, whole + tensor / 2, 1.01 * (whole + tensor / 2))

# A contiguous split of the fused projection gives a rank whole queries, not heads: it works, costs a third of what a rank has of the projection,
# forward and backward in every layer, and is warned about.
# CHECK: tp2+contiguous: 77 conversions, 195.0 MB, {{.*}} c_allreduce 53 c_alltoall 24
# CHECK-NEXT: warning: values change their split over axis "tp", 37.7 MB per step in 24 conversions
thirds = 2 * LAYERS * ACTIVATION / 2
_, log = check("tp2+contiguous", 78, tensor + thirds, tensor + thirds + 8 * ROWS, lambda text: text.replace("groups: 3", "groups: 1"))
print(re.search("warning: .*", log).group(0))
