# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Tests that initial values are, bit for bit, what the numpy code of docs/reference/initial-values.md computes, whatever
# the mesh and the seed.
#
# RUN: rm -rf %tmp && mkdir %tmp && make-test-package %tmp/p initializers
# RUN: dist-run %tmp/p --steps=0 --quiet --save=%tmp/distributed
# RUN: dist-run %tmp/p --steps=0 --quiet --save=%tmp/serial --serial
# RUN: cmp %tmp/distributed %tmp/serial
# RUN: dist-run %tmp/p --steps=0 --quiet --save=%tmp/seed --seed=12345678901234567890
# RUN: %python %s %source/docs/reference/initial-values.md %tmp/distributed %tmp/seed | FileCheck %s
# CHECK: seed 0: 16 variables are equal
# CHECK: seed 12345678901234567890: 16 variables are equal
import re
import sys

import numpy as np
import plain_safetensors

page, distributed, other = sys.argv[1:]
code = re.search(r"```python\n(.*?)```", open(page, encoding="utf-8").read(), re.S).group(1)
assert len([line for line in code.splitlines() if line.strip()]) <= 40
exec(code)  # defines initial(kind, name, seed, a, b, count)


def to_bf16(values):
    """As f32 with the bits of the nearest bf16, ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16 << 16).astype(np.uint32).view(np.float32)


ROUND = {"f64": np.float64, "f32": np.float32, "f16": lambda v: np.float32(v).astype(np.float16), "bf16": to_bf16}
for seed, path in ((0, distributed), (12345678901234567890, other)):
    tensors = plain_safetensors.read(path)
    for name, array in tensors.items():
        kind, dtype = name.split(".")
        expected = ROUND[dtype](initial(kind, name, seed, 0.25, 1.5, array.size)).reshape(array.shape)  # noqa: F821
        if kind == "uniform":
            expected = np.where(expected < 1.5, expected, 0.25).astype(expected.dtype)
        assert array.dtype == expected.dtype and array.tobytes() == expected.tobytes(), (name, array, expected)
    print(f"seed {seed}: {len(tensors)} variables are equal")
