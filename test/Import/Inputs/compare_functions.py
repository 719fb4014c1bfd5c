# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares functions at every point with JAX's: to a few units of the last place. JAX on a CPU takes what is too small to be
normal for zero."""
import sys

import numpy as np
import plain_safetensors

# In units of the last place; what is subtracted near a zero of the function counts in units of 1. Hyperbolic functions of large
# numbers lose digits in JAX, which adds the logarithm of one half to the exponent.
UNITS = {"cosh": 512, "digamma": 64, "erf_inv": 128, "erfc": 64, "lgamma": 64, "polygamma": 64, "sinh": 512}
FROM_ONE = {"digamma", "lgamma", "polygamma"}

ours, theirs = (plain_safetensors.read(path) for path in sys.argv[1:])
if set(ours) != set(theirs):
    sys.exit(f"the results are {sorted(ours)}, not {sorted(theirs)}")
wrong = []
for name, other in sorted(theirs.items()):
    one = ours[name]
    function = name.rsplit("_", 1)[0]
    if one.shape != other.shape or one.dtype != other.dtype:
        wrong.append(f"{name} is {one.dtype} {one.shape}, not {other.dtype} {other.shape}")
        continue
    if other.dtype.kind == "f":
        info = np.finfo(other.dtype)
        scale = np.maximum(np.abs(other), 1 if function in FROM_ONE else 0)
        near = UNITS.get(function, 16) * info.eps * scale + 2 * info.tiny
        with np.errstate(invalid="ignore"):
            same = (one == other) | (np.isnan(one) & np.isnan(other)) | (np.abs(one - other) <= near)
    else:
        same = one == other
    for at in np.flatnonzero(~same):
        wrong.append(f"{name} at {at} is {one.flat[at]!r}, not {other.flat[at]!r}")
print("\n".join(wrong) if wrong else f"{len(theirs)} functions agree")
