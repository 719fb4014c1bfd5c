# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes x.f32 and y.f32: 64 rows of 4 numbers, and 2 numbers for each that a small network can learn."""
import array
import math

x, y = array.array("f"), array.array("f")
for row in range(64):
    values = [math.sin(1.7 * row + 2.3 * column) for column in range(4)]
    x.extend(values)
    y.extend([max(values[0], 0) + values[1], abs(values[2])])
for name, values in (("x", x), ("y", y)):
    with open(f"{name}.f32", "wb") as file:
        values.tofile(file)
