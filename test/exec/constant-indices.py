# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""Gradients of rows that constant numbers choose, of which a scatter takes the first few, are numpy's.

The positions of a scatter are then computed in its kernel: a slice of a constant, which reads its operand from the beginning on. The
scatters of `reproducible` take such a slice of each part of a batch.
"""
import pathlib
import sys
import tempfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from case import read_safetensors, run

GRAPH = """
module @rows {
  func.func public @main(%e: tensor<3x32xf32> loc("p['e']"), %x: tensor<8x16x32xf32> loc("x")) -> (tensor<f32> {jax.result_info = "result"}) {
    %all = stablehlo.iota dim = 0 : tensor<6x16x1xi32>
    %three = stablehlo.constant dense<3> : tensor<6x16x1xi32>
    %rows = stablehlo.remainder %all, %three : tensor<6x16x1xi32>
    %some = stablehlo.slice %rows [0:FROM, 0:16, 0:1] : (tensor<6x16x1xi32>) -> tensor<FROMx16x1xi32>
    %zeros = stablehlo.constant dense<0> : tensor<RESTx16x1xi32>
    %ids = stablehlo.concatenate %some, %zeros, dim = 0 : (tensor<FROMx16x1xi32>, tensor<RESTx16x1xi32>) -> tensor<8x16x1xi32>
    %taken = "stablehlo.gather"(%e, IDS) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0],
      start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 32>}>
      : (tensor<3x32xf32>, tensor<8x16x1xi32>) -> tensor<8x16x32xf32>
    %product = stablehlo.multiply %taken, %x : tensor<8x16x32xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%product init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<8x16x32xf32>, tensor<f32>) -> tensor<f32>
    return %sum : tensor<f32>
  }
}
"""
STRATEGY = """
mesh { axes { name: "dp" size: RANKS } }
model { parameters: "p.*" batch { inputs: "x" } }
init { match: "*" normal { stddev: 0.5 } }
train { sgd { lr { constant: 0.1 } } }
data { axes: "dp" }
fetch: "grad/*"
"""


def main():
    x = numpy.random.default_rng(0).standard_normal((8, 16, 32)).astype("float32")
    for ids in ("%ids", "%none"):
        rows = numpy.concatenate([numpy.arange(5) % 3, numpy.zeros(3)] if ids == "%ids" else [numpy.zeros(8)]).astype(int)
        expected = numpy.zeros((3, 32))
        numpy.add.at(expected, rows, x.astype(float).sum(1))
        for ranks in (1, 2):
            for more in ("", "reproducible { parts: 8 }\n"):
                with tempfile.TemporaryDirectory() as name:
                    folder = pathlib.Path(name)
                    x.tofile(folder / "x.f32")
                    graph = GRAPH.replace("IDS", ids).replace("FROM", "5").replace("REST", "3")
                    none = "    %none = stablehlo.constant dense<0> : tensor<8x16x1xi32>\n"
                    (folder / "graph.mlir").write_text(graph.replace("    %taken", none + "    %taken"))
                    (folder / "strategy.textproto").write_text(STRATEGY.replace("RANKS", str(ranks)) + more)
                    run("dist-opt", folder / "graph.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", "--quiet")
                    run("dist-run", folder / "package", "--quiet", "--steps=1", "--data", f"x={folder}/x.f32:f32",
                        f"--outputs={folder}/outputs.safetensors")
                    found = read_safetensors(folder / "outputs.safetensors")["grad/p.e"]
                if not numpy.allclose(found, expected, rtol=1e-5, atol=1e-4):
                    sys.exit(f"{ids} on {ranks} ranks{' with ' + more.strip() if more else ''}: {found[:, :4]} instead of {expected[:, :4]}")


main()
