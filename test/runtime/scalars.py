# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""Takes tensors of one element for scalars, as variable and as input: numpy's safetensors writes scalars so.

Also wants one error for all variables that nothing gives a value.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy
from commands import run
from plain_safetensors import read as read_safetensors
from plain_safetensors import write as write_safetensors

GRAPH = """
module @jit_loss {
  func.func public @main(%scale: tensor<f32> loc("p.scale"), %shift: tensor<2xf32> loc("p.shift"), %x: tensor<f32> loc("x")) -> tensor<f32> {
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %0 = stablehlo.reduce(%shift init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<2xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.multiply %scale, %x : tensor<f32>
    %2 = stablehlo.add %0, %1 : tensor<f32>
    %3 = stablehlo.multiply %2, %2 : tensor<f32>
    return %3 : tensor<f32>
  }
}
"""
STRATEGY = 'model { parameters: "p.*" }\ntrain { sgd { lr { constant: 0.125 } } }\n'


def write(path, **tensors):
    write_safetensors(path, {name.replace("_", "."): numpy.asarray(value, numpy.float32) for name, value in tensors.items()})
    return path


def train(folder, scale, x):
    init, feed = write(folder / "init", p_scale=scale, p_shift=[1, 2]), write(folder / "feed", x=x)
    run("dist-run", folder / "package", f"--init={init}", f"--feed={feed}", "--steps=1", f"--save={folder}/saved", "--quiet")
    return read_safetensors(folder / "saved")


def refuse(folder, message, *options):
    done = subprocess.run(["dist-run", folder / "package", "--steps=1", "--quiet", *options], capture_output=True, text=True, check=False)
    if done.returncode == 0 or message not in done.stderr:
        sys.exit(f"expected: {message}\nfound: {done.stderr}")


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "graph.mlir").write_text(GRAPH)
    (folder / "strategy.textproto").write_text(STRATEGY)
    run("dist-opt", folder / "graph.mlir", f"--strategy={folder}/strategy.textproto", f"--emit={folder}/package", "--quiet")
    expected = train(folder, 2, 3)
    # 2 - 0.125 * 2 * (1 + 2 + 2 * 3) * 3
    if expected["p.scale"] != -4.75:
        sys.exit(f"the scale is {expected['p.scale']}")
    for scale, x in (([2], 3), (2, [3]), ([[2]], [[3]])):
        found = train(folder, scale, x)
        if any(found[key].tobytes() != expected[key].tobytes() for key in expected):
            sys.exit(f"{scale} and {x} give {found} instead of {expected}")
    init, feed = write(folder / "init", p_scale=[2], p_shift=[1, 2]), write(folder / "feed", x=[3, 3])
    refuse(folder, "input \"x\" is f32 but the tensor is 2xf32", f"--init={init}", f"--feed={feed}")
    wide = write(folder / "wide", p_scale=[2, 2], p_shift=[1, 2])
    refuse(folder, "tensor \"p.scale\" is 2xf32 but the variable is f32", f"--init={wide}", f"--feed={feed}")
    refuse(folder, "2 variables, \"p.scale\" of f32, \"p.shift\" of 2xf32, have no initial value: no file is given (--init), and no init rule "
           "of the strategy matches them", f"--feed={feed}")
