# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the outputs of a gradient graph (`0`, `1.NAME`) with JAX's (`loss`, `grad/p.NAME`)."""
import sys

import numpy as np
import plain_safetensors

ours, theirs = (plain_safetensors.read(path) for path in sys.argv[1:])
gradients = [name for name in theirs if name.startswith("grad/p.")]
scale = 1e-3 * np.sqrt(sum(np.sum(theirs[name] ** 2) for name in gradients))
if set(ours) != {"0"} | {"1." + name[len("grad/p."):] for name in gradients}:
    sys.exit(f"the outputs are {sorted(ours)}")
if not abs(ours["0"] - theirs["loss"]) <= 1e-11 * abs(theirs["loss"]):
    sys.exit(f"the loss is {ours['0']}, not {theirs['loss']}")
for name in gradients:
    one, other = ours["1." + name[len("grad/p."):]], theirs[name]
    error, allowed = np.linalg.norm(one - other), 1e-11 * max(np.linalg.norm(other), scale)
    if one.shape != other.shape or not error <= allowed:
        sys.exit(f"{name} differs by {error}; {allowed} is allowed")
print(f"{len(gradients)} gradients and the loss agree")
