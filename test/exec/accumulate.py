# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests that gradients in 16 bit which are sums over many rows are added in f32: of a bias, of a row that many positions look up, of a weight.

Every row adds 2^-12 or less, and there are 4096: a sum that is rounded to 16 bit after every row stops where a summand is less than half
a digit, in bf16 at 2^-4. The inputs are such that every gradient is exact in 16 bit, so it has to be what numpy adds up in f64, on one
rank and on four.
"""
import pathlib
import subprocess
import sys

import numpy as np

import plain_safetensors

ROWS, WIDTH, WORDS = 4096, 8, 16
GRAPH = f"""
net.variable parameter @kernel : tensor<4x{WIDTH}xf32> = <constant, 1.0, 0.0>
net.variable parameter @bias : tensor<{WIDTH}xf32> = <constant, 0.0, 0.0>
net.variable parameter @table : tensor<{WORDS}x{WIDTH}xf32> = <constant, 1.0, 0.0>
func.func @loss(%x: tensor<{ROWS}x4xf32> {{net.name = "x"}}, %ids: tensor<{ROWS}x1xi32> {{net.name = "ids"}}) -> (tensor<f32> {{net.name = "loss"}}) {{
  %kernel = net.read @kernel : tensor<4x{WIDTH}xf32>
  %bias = net.read @bias : tensor<{WIDTH}xf32>
  %table = net.read @table : tensor<{WORDS}x{WIDTH}xf32>
  %rows = net.gather %table, %ids <offsetDims = [1], collapsedDims = [0], startIndexMap = [0], indexVectorDim = 1> sizes = [1, {WIDTH}] : tensor<{WORDS}x{WIDTH}xf32>, tensor<{ROWS}x1xi32> -> tensor<{ROWS}x{WIDTH}xf32>
  %product = net.dot %x, %kernel batch = [] x [] contract = [1] x [0] : tensor<{ROWS}x4xf32>, tensor<4x{WIDTH}xf32> -> tensor<{ROWS}x{WIDTH}xf32>
  %wide = net.broadcast %bias dims = [1] : tensor<{WIDTH}xf32> -> tensor<{ROWS}x{WIDTH}xf32>
  %shifted = net.add %product, %wide : tensor<{ROWS}x{WIDTH}xf32>
  %all = net.add %shifted, %rows : tensor<{ROWS}x{WIDTH}xf32>
  %part = net.constant dense<{2.0**-12}> : tensor<{ROWS}x{WIDTH}xf32>
  %mean = net.multiply %all, %part : tensor<{ROWS}x{WIDTH}xf32>
  %loss = net.reduce sum %mean dims = [0, 1] : tensor<{ROWS}x{WIDTH}xf32> -> tensor<f32>
  return %loss : tensor<f32>
}}
"""
MESHES = {"serial": "", "dp4": 'mesh { axes { name: "dp" size: 4 } } data { axes: "dp" }',
          "zero3": 'mesh { axes { name: "dp" size: 4 } } data { axes: "dp" } zero { axes: "dp" stage: 3 }'}

folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
x = np.tile(np.array([1, 0.5, 0, -1], "f4"), (ROWS, 1))
# Word 0 is looked up 2048 times, some words never.
ids = np.arange(ROWS) % WORDS
ids[ids < WORDS // 2] = 0
table = np.zeros((WORDS, WIDTH))
np.add.at(table, ids, 1 / ROWS)
expected = {"grad/kernel": np.outer(x.astype("f8").sum(axis=0), np.full(WIDTH, 1 / ROWS)), "grad/bias": np.ones(WIDTH), "grad/table": table}
plain_safetensors.write(folder / "x.safetensors", {"x": x, "ids": ids.astype("i4").reshape(-1, 1)})
(folder / "graph.mlir").write_text(GRAPH)
for name, mesh in MESHES.items():
    for compute in ("BF16", "F16"):
        (folder / "s.textproto").write_text(f"""{mesh} model {{ parameters: "*" batch {{ inputs: "x" }} batch {{ inputs: "ids" }} }}
            train {{ sgd {{ lr {{ constant: 1 }} }} precision {{ compute: {compute} }} }} fetch: "grad/*" """)
        subprocess.run(["dist-opt", folder / "graph.mlir", f"--strategy={folder}/s.textproto", "--from=train", f"--emit={folder}/package",
                        "--quiet"], check=True)
        subprocess.run(["dist-run", folder / "package", f"--feed={folder}/x.safetensors", "--steps=1", "--quiet", "--check-serial",
                        f"--outputs={folder}/o.safetensors"], check=True)
        found = plain_safetensors.read(folder / "o.safetensors")
        for gradient, value in expected.items():
            if not np.array_equal(found[gradient], value):
                sys.exit(f"{name} in {compute}: {gradient} is\n{found[gradient]}, not\n{value}")
