# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s %fixtures %tmp | FileCheck %s
"""Tests that every rank drops what JAX drops: masks of 8x6x24 elements whose batch and width are split in all ways, by every generator.

The numbers are small integers, so that what is left, and its sum, are JAX's to the last bit.
"""
import pathlib
import subprocess
import sys

import numpy as np

import plain_safetensors

fixtures, folder = (pathlib.Path(argument) for argument in sys.argv[1:])
folder.mkdir(parents=True, exist_ok=True)

SPLIT = 'tensor { axis: "tp" split { match: "*.w" dim: 0 } }'
MESHES = {
    "serial": ({}, ""),
    "dp4": ({"dp": 4}, ""),
    "dp3": ({"dp": 3}, ""),
    "tp4": ({"tp": 4}, SPLIT),
    "tp5": ({"tp": 5}, SPLIT),
    "dp2xtp2": ({"dp": 2, "tp": 2}, SPLIT),
    "dp2xtp3-zero3": ({"dp": 2, "tp": 3}, SPLIT + ' zero { axes: "dp" stage: 3 }'),
    "dp4-zero3": ({"dp": 4}, 'zero { axes: "dp" stage: 3 }'),
}
expected = plain_safetensors.read(fixtures / "masks.safetensors")
for name, (mesh, more) in MESHES.items():
    axes = " ".join(f'axes {{ name: "{axis}" size: {size} }}' for axis, size in mesh.items())
    strategy = folder / f"{name}.textproto"
    strategy.write_text(f"""
        {f"mesh {{ {axes} }}" if mesh else ""}
        {'data { axes: "dp" }' if "dp" in mesh else ""}
        model {{ parameters: "p.*" batch {{ inputs: "x" }} }}
        train {{ sgd {{ lr {{ constant: 0.125 }} }} }} {more}
    """)
    run = lambda *command: subprocess.run([str(word) for word in command], check=True)
    run("dist-opt", fixtures / "masks.mlir", f"--strategy={strategy}", f"--emit={folder}/{name}", "--quiet")
    run("dist-run", folder / name, f"--init={fixtures}/masks.batch.safetensors", f"--feed={fixtures}/masks.batch.safetensors",
        f"--outputs={folder}/{name}.safetensors", "--quiet")
    found = plain_safetensors.read(folder / f"{name}.safetensors")
    for key, value in expected.items():
        assert np.array_equal(found[key], value), f"{name}: {key} differs in {np.sum(found[key] != value)} elements"
    print(f"{name}: {len(expected)} results have JAX's bits")
# CHECK: serial: 4 results have JAX's bits
# CHECK: dp4: 4 results
# CHECK: dp3: 4 results
# CHECK: tp4: 4 results
# CHECK: tp5: 4 results
# CHECK: dp2xtp2: 4 results
# CHECK: dp2xtp3-zero3: 4 results
# CHECK: dp4-zero3: 4 results
