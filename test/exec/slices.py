# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %tmp
"""Goes through a batch in slices whose samples count differently, and returns what every sample has: results, kinds of elements and the update are
those that numpy finds of the whole batch, and not the mean of what it finds of slices."""
import json
import pathlib
import sys

import numpy

from commands import run

SAMPLES, FEATURES, CLASSES = 8, 3, 4
NETWORK = """
net.variable parameter @w : tensor<3x4xf64>
func.func @step(%x: tensor<8x3xf64> {net.name = "x"}, %mask: tensor<8xi32> {net.name = "mask"})
    -> (tensor<f64> {net.name = "loss"}, tensor<4x8xf64> {net.name = "y"}, tensor<8x4xi1> {net.name = "positive"}, tensor<8xi32> {net.name = "class"}) {
  %w = net.read @w : tensor<3x4xf64>
  %y = net.dot %x, %w batch = [] x [] contract = [1] x [0] : tensor<8x3xf64>, tensor<3x4xf64> -> tensor<8x4xf64>
  %m = net.convert %mask : tensor<8xi32> -> tensor<8xf64>
  %count = net.reduce sum %m dims = [0] : tensor<8xf64> -> tensor<f64>
  %share = net.broadcast %count dims = [] : tensor<f64> -> tensor<8xf64>
  %weight = net.divide %m, %share : tensor<8xf64>
  %weights = net.broadcast %weight dims = [0] : tensor<8xf64> -> tensor<8x4xf64>
  %weighted = net.multiply %y, %weights : tensor<8x4xf64>
  %squares = net.multiply %weighted, %y : tensor<8x4xf64>
  %loss = net.reduce sum %squares dims = [0, 1] : tensor<8x4xf64> -> tensor<f64>
  %g = net.dot %x, %weighted batch = [] x [] contract = [0] x [0] {net.name = "grad/w"} : tensor<8x3xf64>, tensor<8x4xf64> -> tensor<3x4xf64>
  %next = net.subtract %w, %g : tensor<3x4xf64>
  net.assign @w, %next : tensor<3x4xf64>
  %turned = net.transpose %y dims = [1, 0] : tensor<8x4xf64> -> tensor<4x8xf64>
  %zero = net.constant dense<0.0> : tensor<8x4xf64>
  %positive = net.compare gt, %y, %zero : tensor<8x4xf64> -> tensor<8x4xi1>
  %most, %class = net.arg_reduce max %y dim = 1 : tensor<8x4xf64> -> tensor<8xf64>, tensor<8xi32>
  return %loss, %turned, %positive, %class : tensor<f64>, tensor<4x8xf64>, tensor<8x4xi1>, tensor<8xi32>
}
"""
STRATEGY = """{mesh} model {{ batch {{ inputs: "x" }} batch {{ inputs: "mask" }} }}
train {{ sgd {{}} gradient_accumulation {{ slices: {slices} }} }}
"""
TYPES = {"float64": "F64", "int32": "I32"}
NUMPY = {"F64": "<f8", "I32": "<i4", "BOOL": "?"}


def write_safetensors(path, tensors):
    header, data = {}, b""
    for name, value in tensors.items():
        header[name] = {"dtype": TYPES[str(value.dtype)], "shape": list(value.shape), "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def read_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    return {name: numpy.frombuffer(data[slice(*(8 + size + offset for offset in entry["data_offsets"]))], NUMPY[entry["dtype"]]).reshape(entry["shape"])
            for name, entry in header.items() if name != "__metadata__"}


def compute(x, mask, w):
    """The results of a step and the parameter after it."""
    y = x @ w
    weighted = y * (mask / mask.sum())[:, None]
    return {"loss": (weighted * y).sum(), "y": y.T, "positive": y > 0, "class": y.argmax(1)}, w - x.T @ weighted


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    rng = numpy.random.default_rng(5)
    x, w = rng.standard_normal((SAMPLES, FEATURES)), rng.standard_normal((FEATURES, CLASSES))
    mask = numpy.array([1, 0, 0, 0, 3, 1, 1, 0], "int32")
    write_safetensors(folder / "batch.safetensors", {"x": x, "mask": mask})
    write_safetensors(folder / "init.safetensors", {"w": w})
    (folder / "step.mlir").write_text(NETWORK)
    results, after = compute(x, mask, w)
    for name, mesh, slices in (("halves", "", 2), ("samples", "", 8), ("ranks", 'mesh { axes { name: "dp" size: 2 } } data { axes: "dp" }', 2)):
        (folder / "strategy.textproto").write_text(STRATEGY.format(mesh=mesh, slices=slices))
        run("dist-opt", folder / "step.mlir", "--from=annotate", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/{name}", "--quiet")
        run("dist-run", folder / name, f"--init={folder}/init.safetensors", f"--feed={folder}/batch.safetensors", "--steps=1", "--check-serial",
            f"--outputs={folder}/outputs.safetensors", f"--save={folder}/final.safetensors", "--quiet")
        found = read_safetensors(folder / "outputs.safetensors")
        for key, expected in results.items():
            if not numpy.allclose(found[key], expected, rtol=1e-13, atol=0):
                sys.exit(f"{name}: {key} is {found[key]}, expected {expected}")
        if not numpy.allclose(read_safetensors(folder / "final.safetensors")["w"], after, rtol=1e-12, atol=0):
            sys.exit(f"{name}: the update is not that of the whole batch")
        print(name, "loss", float(found["loss"]))
    # The test would not tell the two apart if this was no other loss.
    means = numpy.mean([compute(x[half], mask[half], w)[0]["loss"] for half in (slice(0, 4), slice(4, 8))])
    if abs(means - results["loss"]) < 0.01 * results["loss"]:
        sys.exit(f"the mean of means is {means}, the loss {results['loss']}")


if __name__ == "__main__":
    main()
