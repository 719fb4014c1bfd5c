# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares results by name with JAX's: floats to 1e-12 of the largest, everything else exactly."""
import sys

import numpy as np
import plain_safetensors

ours, theirs = (plain_safetensors.read(path) for path in sys.argv[1:])
if set(ours) != set(theirs):
    sys.exit(f"the results are {sorted(ours)}, not {sorted(theirs)}")
wrong = []
for name, other in sorted(theirs.items()):
    one = ours[name]
    if one.shape != other.shape or one.dtype != other.dtype:
        wrong.append(f"{name} is {one.dtype} {one.shape}, not {other.dtype} {other.shape}")
    elif other.dtype.kind != "f":
        if not np.array_equal(one, other):
            wrong.append(f"{name} is\n{one}\nnot\n{other}")
    elif not np.allclose(one, other, rtol=1e-12, atol=1e-12 * np.max(np.abs(other[np.isfinite(other)]), initial=0), equal_nan=True):
        wrong.append(f"{name} differs by {np.nanmax(np.abs(one - other))}:\n{one}\nnot\n{other}")
print("\n".join(wrong) if wrong else f"{len(theirs)} results agree")
