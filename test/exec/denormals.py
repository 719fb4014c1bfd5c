# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests that ranks on CPUs take f32 below the least normal number for zeros, on every thread, and keep those of f16.

Halves of x are 1e-30 and 1e-20. Of x * 1e-10 the first is no normal number, so it is 0 where the next product makes a large number of it;
the second is 1e-30. Zeros stand for the first half of a product with a matrix too, which threads share.
"""
import pathlib
import subprocess
import sys

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))
import plain_safetensors

ROWS, COLUMNS = 512, 256
GRAPH = f"""
func.func @loss(%x: tensor<{ROWS}x{COLUMNS}xf32> {{net.name = "x"}}, %half: tensor<16xf16> {{net.name = "half"}})
    -> (tensor<{ROWS}x{COLUMNS}xf32> {{net.name = "scaled"}}, tensor<{ROWS}x64xf32> {{net.name = "product"}}, tensor<16xf16> {{net.name = "kept"}}) {{
  %small = net.constant dense<1.0e-10> : tensor<{ROWS}x{COLUMNS}xf32>
  %large = net.constant dense<1.0e+20> : tensor<{ROWS}x{COLUMNS}xf32>
  %y = net.multiply %x, %small : tensor<{ROWS}x{COLUMNS}xf32>
  %scaled = net.multiply %y, %large : tensor<{ROWS}x{COLUMNS}xf32>
  %factors = net.constant dense<1.0e-10> : tensor<{COLUMNS}x64xf32>
  %sums = net.dot %x, %factors batch = [] x [] contract = [1] x [0] : tensor<{ROWS}x{COLUMNS}xf32>, tensor<{COLUMNS}x64xf32> -> tensor<{ROWS}x64xf32>
  %more = net.constant dense<1.0e+20> : tensor<{ROWS}x64xf32>
  %product = net.multiply %sums, %more : tensor<{ROWS}x64xf32>
  %kept = net.add %half, %half : tensor<16xf16>
  return %scaled, %product, %kept : tensor<{ROWS}x{COLUMNS}xf32>, tensor<{ROWS}x64xf32>, tensor<16xf16>
}}
"""


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "graph.mlir").write_text(GRAPH)
    x = numpy.full((ROWS, COLUMNS), 1e-20, numpy.float32)
    x[:ROWS // 2] = 1e-30
    half = numpy.arange(16, dtype=numpy.uint16).view(numpy.float16)
    plain_safetensors.write(folder / "batch.safetensors", {"x": x, "half": half})
    subprocess.run(["dist-opt", folder / "graph.mlir", "--from=train", f"--emit={folder}/package", "--quiet"], check=True)
    for threads in (1, 2, 3):
        subprocess.run(["dist-run", folder / "package", f"--feed={folder}/batch.safetensors", "--steps=1", "--quiet", f"--threads={threads}",
                        f"--outputs={folder}/o.safetensors"], check=True)
        found = plain_safetensors.read(folder / "o.safetensors")
        for name, expected in (("scaled", 1e-10), ("product", 1e-10 * COLUMNS)):
            result = found[name]
            if result[:ROWS // 2].any() or not numpy.allclose(result[ROWS // 2:], expected, rtol=1e-5):
                sys.exit(f"{name} on {threads} threads: {result[0]} and {result[-1]}")
        if not (found["kept"] == half + half).all():
            sys.exit(f"f16 on {threads} threads: {found['kept']}")


main(pathlib.Path(sys.argv[1]))
