# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# Tests that a dialect which Meshwright does not know is executed: six ranks compute what the serial program does, and both what numpy
# does.
#
# RUN: rm -rf %tmp && mkdir %tmp
# RUN: %python %s feed %tmp/feed.safetensors
# RUN: foreign-opt %S/Inputs/foreign.mlir --from=annotate --strategy=%S/Inputs/foreign.textproto --emit=%tmp/package
# RUN: dist-run %tmp/package --feed=%tmp/feed.safetensors --outputs=%tmp/out.safetensors --check-serial
# RUN: %python %s compare %tmp/feed.safetensors %tmp/out.safetensors
import sys

import numpy as np
import plain_safetensors


def feed(path):
    rng = np.random.default_rng(1)
    shapes = {"x": (7, 10), "w": (11, 10), "v": (5, 11), "u": (2, 12)}
    plain_safetensors.write(path, {name: rng.standard_normal(shape) for name, shape in shapes.items()})


def compare(inputs, outputs):
    i, o = plain_safetensors.read(inputs), plain_safetensors.read(outputs)
    hidden = 0.5 * i["x"] @ i["w"].T + 0.25 * np.arange(11)
    expected = {"sums": hidden.sum(1), "product": 2 * hidden @ i["v"].T + np.arange(7.0)[:, None],
                "ramp": i["u"] + 3 * np.arange(12.0)}
    assert set(o) == set(expected), set(o)
    for name, value in expected.items():
        difference = np.linalg.norm(o[name] - value) / np.linalg.norm(value)
        assert o[name].shape == value.shape and difference < 1e-14, (name, difference)


{"feed": feed, "compare": compare}[sys.argv[1]](*sys.argv[2:])
