# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests that a step which is skipped because its gradients are not finite passes --check-serial, whatever each program has instead of numbers.

In f16 the sums of x over the batch leave the type's range: 2e5 on the first rank is inf, -1e5 on the second is -inf, together NaN; the sum of all, as
the serial program has it, is 1e5 and inf.
"""
import json
import pathlib
import subprocess
import sys

import numpy

import plain_safetensors

GRAPH = """
net.variable parameter @w : tensor<4xf16> = <constant, 1.0, 0.0>
func.func @loss(%x: tensor<8x4xf16> {net.name = "x"}) -> (tensor<f16> {net.name = "loss"}) {
  %w = net.read @w : tensor<4xf16>
  %all = net.broadcast %w dims = [1] : tensor<4xf16> -> tensor<8x4xf16>
  %y = net.multiply %all, %x : tensor<8x4xf16>
  %sum = net.reduce sum %y dims = [0, 1] : tensor<8x4xf16> -> tensor<f16>
  return %sum : tensor<f16>
}
"""
STRATEGY = """
mesh { axes { name: "dp" size: 2 } }
model { parameters: "w" batch { inputs: "x" } }
train { sgd { lr { constant: 0.125 } } clip { global_norm: 1 } PRECISION }
fetch: "grad/*"
data { axes: "dp" }
"""


def run(*command, expect=0):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode != expect:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}, not {expect}:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
(folder / "graph.mlir").write_text(GRAPH)
batch = numpy.full((3, 8, 4), 1, numpy.float16)
batch[1, :4], batch[1, 4:] = 50000, -25000
for step in range(3):
    plain_safetensors.write(folder / f"x{step}", {"x": batch[step]})
packages = {}
for name, precision in ("skips", "precision { loss_scale { constant: 1 } }"), ("plain", ""):
    (folder / "s.textproto").write_text(STRATEGY.replace("PRECISION", precision))
    packages[name] = folder / name
    run("dist-opt", folder / "graph.mlir", f"--strategy={folder}/s.textproto", "--from=train", f"--emit={folder}/{name}", "--quiet")

command = ["dist-run", packages["skips"], f"--feed={folder}/x{{step}}", "--steps=3", f"--metrics={folder}/metrics", "--check-serial"]
# In the step that is skipped variables keep their values, so nothing ends a run, not even with stop where the loss is finite.
text = run(*command, "--on-nonfinite=skip")
assert ", update skipped" in text and "agree with the serial program; 3 are not finite, in a step that both skip, " in text and "\"grad/w\" (NaN" in text, text
metrics = [json.loads(line) for line in (folder / "metrics").read_text().splitlines()]
assert [line["found_inf"] for line in metrics] == [0, 1, 0] and metrics[2]["skipped_steps"] == 1, metrics
assert "non_finite" not in metrics[0] and {"grad_norm"} <= {entry["name"] for entry in metrics[1]["non_finite"]}, metrics[1]
assert not any(entry["name"] == "w" for entry in metrics[1]["non_finite"]) and metrics[2]["loss"] is not None
