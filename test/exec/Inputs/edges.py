# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a batch of edges.mlir: edges.py FILE. With a second file it checks that this holds what numpy makes of the batch, signs of zeros included."""
import sys

import numpy as np
import plain_safetensors


def make_wide():
    """Rows of 37: numbers, both infinities, NaN of both signs at the first, a middle and the last place, zeros of both signs, and -inf alone."""
    rows = np.tile(np.linspace(-3, 2, 37, dtype=np.float32), (8, 1))
    rows[1, 5], rows[1, 36] = np.inf, -np.inf
    rows[2, 20], rows[3, 36] = np.nan, -np.nan
    rows[4, 0], rows[4, 1] = -np.nan, np.inf
    rows[5] = np.where(np.arange(37) == 33, 0.0, -0.0)
    rows[6] = -np.inf
    rows[7] = np.linspace(-1e-30, -3e38, 37)
    return rows


batch = {
    "table": np.where(np.arange(64) % 3 == 0, -0.0, np.arange(64)).astype(np.float32),
    "at": np.array([0, 63, 1], np.int32),
    "x": np.array([0, -1, -0.0, -2, -3, -0.0, -4, -5], np.float32),
    "wide": make_wide(),
    "half": np.array([-1, -0.0, -0.0, -1, -1, 0, -0.0, -1], np.float16),
    "far": np.array([0, 2**63 + 5, 3, 2**64 - 1], np.uint64),
    "rows": np.array([3, 0, 7, 3, 255], np.uint8),
    "updates": np.arange(1, 11, dtype=np.float32).reshape(5, 2),
    "a": np.array([[[4, 2], [2, 3]], [[1, 2], [2, 1]], [[0, 0], [0, 1]], [[9, 3], [3, 2]]], np.float64),
}


def factorize(a):
    """The lower factor and where LAPACK says that there is none."""
    lower = np.full_like(a, np.nan)
    info = np.zeros(len(a), np.int32)
    for at, matrix in enumerate(a):
        for order in range(len(matrix), 0, -1):
            if np.linalg.det(matrix[:order, :order]) <= 0:
                info[at] = order
        if info[at] == 0:
            lower[at] = np.linalg.cholesky(matrix)
    return lower, info


def largest(rows):
    """NaN where there is one; 0 is above -0, which numpy does not say."""
    found = rows.max(axis=1)
    return np.where((found == 0) & ((rows == 0) & ~np.signbit(rows)).any(axis=1), np.float32(0), found)


def expect():
    scattered = np.zeros((300, 2), np.float32)
    np.add.at(scattered, batch["rows"], batch["updates"] + 1)
    factor, info = factorize(batch["a"])
    return {
        "taken": batch["table"][batch["at"]], "most": np.float32(0.0), "least": np.float32(-0.0), "most_half": np.float16(0),
        "most_wide": largest(batch["wide"]), "least_wide": -largest(-batch["wide"]),
        "clamped": batch["table"][np.minimum(batch["far"], np.uint64(63))], "scattered": scattered, "factor": factor, "info": info,
        "upper": factor.transpose(0, 2, 1),
    }


if len(sys.argv) == 2:
    plain_safetensors.write(sys.argv[1], batch)
    sys.exit()
found, expected = plain_safetensors.read(sys.argv[2]), expect()
assert set(found) == set(expected), sorted(found)
for name, other in expected.items():
    one = found[name]
    if one.dtype.kind == "f":
        assert np.allclose(one, other, rtol=1e-14, atol=0, equal_nan=True), (name, one, other)
        assert np.array_equal(np.signbit(one[~np.isnan(one)]), np.signbit(other[~np.isnan(other)])), (name, one, other)
    else:
        assert np.array_equal(one, other), (name, one, other)
print(len(expected), "results are numpy's")
