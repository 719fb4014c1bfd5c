# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Tests that gradients in f16 which are too small under the mean over the batch survive where the factor stands with the gradient.

The gradient of mean(x w) is the mean of x. With x = 2^-23 on each of 8 ranks, what a rank contributes is an eighth of it, which is less
than half the smallest f16 (2^-24) and becomes 0, whether the factor stands in the loss or with the gradient before it is reduced. Behind
the reduction each rank sends 2^-23, and the mean is exact, as that of the serial program.
"""
import json
import pathlib
import struct
import subprocess
import sys

import numpy

RANKS, SAMPLES, TINY = 8, 8, 2.0**-23
GRAPH = """
net.variable parameter @w : tensor<4xf16> = <constant, 1.0, 0.0>
func.func @loss(%x: tensor<8x4xf16> {net.name = "x"}) -> (tensor<f16> {net.name = "loss"}) {
  %w = net.read @w : tensor<4xf16>
  %all = net.broadcast %w dims = [1] : tensor<4xf16> -> tensor<8x4xf16>
  %y = net.multiply %all, %x : tensor<8x4xf16>
  %sum = net.reduce sum %y dims = [0, 1] : tensor<8x4xf16> -> tensor<f16>
  %eighth = net.constant dense<0.125> : tensor<f16>
  %mean = net.multiply %eighth, %sum : tensor<f16>
  return %mean : tensor<f16>
}
"""
STRATEGY = """
mesh {{ axes {{ name: "dp" size: {ranks} }} }}
model {{ parameters: "w" batch {{ inputs: "x" }} }}
train {{ sgd {{ lr {{ constant: 1 }} }} }}
fetch: "grad/*"
data {{ axes: "dp" }}
reduce {{ scale: {scale} }}
"""


def write(path, name, dtype, array):
    header = json.dumps({name: {"dtype": dtype, "shape": list(array.shape), "data_offsets": [0, array.nbytes]}}).encode()
    path.write_bytes(struct.pack("<Q", len(header)) + header + array.tobytes())


def read(path, name):
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    begin, end = json.loads(data[8:8 + size])[name]["data_offsets"]
    return numpy.frombuffer(data[8 + size + begin:8 + size + end], numpy.float16)


def gradient(folder, scale):
    (folder / "graph.mlir").write_text(GRAPH)
    (folder / "s.textproto").write_text(STRATEGY.format(ranks=RANKS, scale=scale))
    write(folder / "x.safetensors", "x", "F16", numpy.full((SAMPLES, 4), TINY, numpy.float16))
    subprocess.run(["dist-opt", folder / "graph.mlir", f"--strategy={folder}/s.textproto", "--from=train", f"--emit={folder}/package",
                    "--quiet"], check=True)
    subprocess.run(["dist-run", folder / "package", f"--feed={folder}/x.safetensors", "--steps=1", "--quiet",
                    f"--outputs={folder}/o.safetensors", *(["--check-serial"] if scale == "AFTER" else [])], check=True)
    return read(folder / "o.safetensors", "grad/w").astype(float)


folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for scale, expected in [("LOSS", 0), ("BEFORE", 0), ("AFTER", TINY)]:
    found = gradient(folder, scale)
    if not (found == expected).all():
        sys.exit(f"{scale}: the gradient is {found}, not {expected}")
