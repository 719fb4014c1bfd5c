# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests that ranks agree where parts of a maximum, a minimum or a sum are no numbers, or infinite, though the whole is a number.

Five rows lie on four ranks, so that one has none. Each reduction is followed by a function and by a slice or a smaller type: it would save bytes to reduce
after them. A logarithm, root or arc sine of a part that is negative or -infinity is NaN, 500 is NaN in floats of 8 bits without infinity, 6 / 0 is infinite where
9 / 0 - 3 / 0 is NaN, and 4 * 20000 is infinite in f16. Expected values are closed formulas.
"""
import json
import math
import pathlib
import struct
import subprocess
import sys

GRAPH = """
module @partials {
  func.func public @main(%x: tensor<5x4xf32> loc("x"), %z: tensor<8x2xf16> loc("z"), %c: tensor<4xf32> loc("c"))
      -> (tensor<2xf32> {jax.result_info = "log"}, tensor<2xf32> {jax.result_info = "root"}, tensor<2xf32> {jax.result_info = "arc"},
          tensor<4xf32> {jax.result_info = "narrow"}, tensor<2xf32> {jax.result_info = "quotient"}, tensor<2xf32> {jax.result_info = "product"},
          tensor<2xf32> {jax.result_info = "sum"}) {
    %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %high = stablehlo.constant dense<0x7F800000> : tensor<f32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %none = stablehlo.constant dense<0.0> : tensor<f16>
    %max = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<5x4xf32>, tensor<f32>) -> tensor<4xf32>
    %0 = stablehlo.log %max : tensor<4xf32>
    %log = stablehlo.slice %0 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    %max1 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<5x4xf32>, tensor<f32>) -> tensor<4xf32>
    %1 = stablehlo.sqrt %max1 : tensor<4xf32>
    %root = stablehlo.slice %1 [1:3] : (tensor<4xf32>) -> tensor<2xf32>
    %max2 = stablehlo.reduce(%x init: %low) applies stablehlo.maximum across dimensions = [0] : (tensor<5x4xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = chlo.asin %max2 : tensor<4xf32> -> tensor<4xf32>
    %arc = stablehlo.slice %2 [2:4] : (tensor<4xf32>) -> tensor<2xf32>
    %hundred = stablehlo.constant dense<100.0> : tensor<5x4xf32>
    %large = stablehlo.multiply %x, %hundred : tensor<5x4xf32>
    %min = stablehlo.reduce(%large init: %high) applies stablehlo.minimum across dimensions = [0] : (tensor<5x4xf32>, tensor<f32>) -> tensor<4xf32>
    %3 = stablehlo.convert %min : (tensor<4xf32>) -> tensor<4xf8E4M3FN>
    %narrow = stablehlo.convert %3 : (tensor<4xf8E4M3FN>) -> tensor<4xf32>
    %sum1 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5x4xf32>, tensor<f32>) -> tensor<4xf32>
    %4 = stablehlo.divide %sum1, %c : tensor<4xf32>
    %quotient = stablehlo.slice %4 [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    %sum2 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<5x4xf32>, tensor<f32>) -> tensor<4xf32>
    %5 = stablehlo.multiply %sum2, %c : tensor<4xf32>
    %product = stablehlo.slice %5 [2:4] : (tensor<4xf32>) -> tensor<2xf32>
    %6 = stablehlo.reduce(%z init: %none) applies stablehlo.add across dimensions = [0] : (tensor<8x2xf16>, tensor<f16>) -> tensor<2xf16>
    %sum = stablehlo.convert %6 : (tensor<2xf16>) -> tensor<2xf32>
    return %log, %root, %arc, %narrow, %quotient, %product, %sum : tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<4xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>
  }
}
"""
STRATEGY = 'mesh { axes { name: "dp" size: 4 } } model { batch { inputs: "x" inputs: "z" } } data { axes: "dp" }'
# The largest element of every column lies with the first rank.
X = [[9, 4, 0.5, 0.25], [5, 3, -3, -2], [-3, 4, -2, -1], [-2, -9, -0.5, -4], [-1, -7, -4, -0.5]]
C = [0, 2, math.inf, -math.inf]
Z = [[20000, 1]] * 4 + [[-20000, 2]] * 4


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, code, shape, numbers) in tensors.items():
        raw = struct.pack(f"<{len(numbers)}{code}", *numbers)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path):
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    return {name: struct.unpack_from(f"<{entry['shape'][0]}f", data, 8 + size + entry["data_offsets"][0])
            for name, entry in header.items()}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "graph.mlir").write_text(GRAPH)
    (folder / "s.textproto").write_text(STRATEGY)
    write(folder / "x.safetensors", {"x": ("F32", "f", [5, 4], sum(X, [])), "z": ("F16", "e", [8, 2], sum(Z, [])), "c": ("F32", "f", [4], C)})
    subprocess.run(["dist-opt", folder / "graph.mlir", f"--strategy={folder}/s.textproto", f"--emit={folder}/package", "--quiet"], check=True)
    subprocess.run(["dist-run", folder / "package", f"--feed={folder}/x.safetensors", "--steps=1", "--quiet", "--check-serial",
                    f"--outputs={folder}/o.safetensors"], check=True)
    found = read(folder / "o.safetensors")
    columns = list(zip(*X))
    largest, total = [max(column) for column in columns], [sum(column) for column in columns]
    expected = {"log": [math.log(number) for number in largest[:2]], "root": [math.sqrt(number) for number in largest[1:3]],
                "arc": [math.asin(number) for number in largest[2:]], "narrow": [-288, math.nan, -384, -384],
                "quotient": [math.copysign(math.inf, total[0]), total[1] / C[1]], "product": [total[2] * C[2], total[3] * C[3]],
                "sum": [0, 12]}
    for name, numbers in expected.items():
        for ours, theirs in zip(found[name], numbers, strict=True):
            agree = math.isnan(ours) if math.isnan(theirs) else ours == theirs or abs(ours - theirs) <= 1e-6 * abs(theirs)
            if not agree:
                sys.exit(f"{name} is {found[name]}, not {numbers}")


if __name__ == "__main__":
    main()
