# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests that variables with one owner each are sent, reduced to and updated there, on 2, 4 and 8 ranks, as numpy says.
#
# RUN: rm -rf %tmp && mkdir %tmp
# RUN: %python %s feed %tmp/init.safetensors %tmp/feed.safetensors
# RUN: sed s/OUTER/1/ %S/Inputs/owners.mlir > %tmp/1.mlir
# RUN: dist-opt %tmp/1.mlir --from=partition --emit=%tmp/package1
# RUN: dist-run %tmp/package1 --init=%tmp/init.safetensors --feed=%tmp/feed.safetensors --steps=3 --outputs=%tmp/out.safetensors --save=%tmp/final.safetensors
# RUN: %python %s compare %tmp
# RUN: sed s/OUTER/2/ %S/Inputs/owners.mlir > %tmp/2.mlir
# RUN: dist-opt %tmp/2.mlir --from=partition --emit=%tmp/package2
# RUN: dist-run %tmp/package2 --init=%tmp/init.safetensors --feed=%tmp/feed.safetensors --steps=3 --outputs=%tmp/out.safetensors --save=%tmp/final.safetensors
# RUN: %python %s compare %tmp
# RUN: sed s/OUTER/4/ %S/Inputs/owners.mlir > %tmp/4.mlir
# RUN: dist-opt %tmp/4.mlir --from=partition --emit=%tmp/package4
# RUN: dist-run %tmp/package4 --init=%tmp/init.safetensors --feed=%tmp/feed.safetensors --steps=3 --outputs=%tmp/out.safetensors --save=%tmp/final.safetensors
# RUN: %python %s compare %tmp
import sys

import numpy as np
import plain_safetensors


def feed(init, batch):
    rng = np.random.default_rng(3)
    shapes = {"a": (6, 5), "b": (5, 3)}
    plain_safetensors.write(init, {name: rng.standard_normal(shape) for name, shape in shapes.items()})
    plain_safetensors.write(batch, {"x": rng.standard_normal((8, 6))})


def compare(folder):
    value = plain_safetensors.read(f"{folder}/init.safetensors")
    x = plain_safetensors.read(f"{folder}/feed.safetensors")["x"]
    value["ma"], value["mb"] = np.zeros((6, 5)), np.zeros((5, 3))
    for _ in range(3):
        h = x @ value["a"]
        y = h @ value["b"]
        gradients = {"a": x.T @ (2 * y @ value["b"].T), "b": h.T @ (2 * y)}
        norm = sum((g * g).sum() for g in gradients.values())
        expected = {"loss": (y * y).sum(), "norm": norm, "gradient": gradients["a"]}
        for name, gradient in gradients.items():
            value["m" + name] = value["m" + name] + gradient / np.sqrt(norm)
            value[name] = value[name] - value["m" + name]
    found = {**plain_safetensors.read(f"{folder}/out.safetensors"), **plain_safetensors.read(f"{folder}/final.safetensors")}
    expected.update(value)
    assert set(found) == set(expected), (set(found), set(expected))
    for name, array in expected.items():
        difference = np.linalg.norm(found[name] - array) / np.linalg.norm(array)
        assert found[name].shape == array.shape and difference < 1e-13, (name, difference)


{"feed": feed, "compare": compare}[sys.argv[1]](*sys.argv[2:])
