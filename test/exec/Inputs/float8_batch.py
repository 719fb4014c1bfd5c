# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes a batch of input `x`: float8_batch.py FILE. With two files it checks that both hold the same variable `p.w` of f8E4M3FN."""
import json
import struct
import sys

import numpy as np
import plain_safetensors


def read(path):
    data = open(path, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    entry = json.loads(data[8:8 + length])["p.w"]
    return entry["dtype"], entry["shape"], data[8 + length:]


if len(sys.argv) == 2:
    plain_safetensors.write(sys.argv[1], {"x": (np.arange(32, dtype=np.float32) / 8 - 2).reshape(4, 8)})
else:
    one, other = map(read, sys.argv[1:])
    assert one == other and one[0] == "F8_E4M3" and one[1] == [8, 6], (one, other)
    print("both are", one[0])
