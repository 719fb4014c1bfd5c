# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: rm -rf %tmp && mkdir %tmp && %python %s %tmp
"""Tests powers of integers against those of Python, which have no width: all types, and exponents at the ends of their ranges."""
import array
import itertools
import json
import pathlib
import struct
import subprocess
import sys

folder = pathlib.Path(sys.argv[1])
TYPES = {f"{sign}i{bits}": (code, bits) for bits, codes in ((8, "bB"), (16, "hH"), (32, "iI"), (64, "qQ")) for sign, code in zip(("", "u"), codes)}


def get_values(bits, isunsigned):
    low, high = (0, 2**bits - 1) if isunsigned else (-2**(bits - 1), 2**(bits - 1) - 1)
    values = [low, low + 1, -3, -2, -1, 0, 1, 2, 3, 5, 7, 31, bits - 1, bits, 2**(bits - 2), 2**(bits - 1) - 1, 2**(bits - 1), 2**(bits - 1) + 1, high - 1, high]
    return sorted({value for value in values if low <= value <= high})


def power(base, exponent, bits, isunsigned):
    if exponent < 0:
        return 1 if base == 1 or (base == -1 and exponent % 2 == 0) else base if base == -1 else 0
    result = pow(base, exponent, 2**bits)
    return result if isunsigned or result < 2**(bits - 1) else result - 2**bits


arguments, lines, results, expected, data = [], [], [], {}, []
for name, (code, bits) in TYPES.items():
    pairs = list(itertools.product(get_values(bits, name[0] == "u"), repeat=2))
    type_ = f"tensor<{len(pairs)}x{'u' if name[0] == 'u' else ''}i{bits}>"
    for letter, values in zip("xy", zip(*pairs)):
        (folder / f"{letter}.{name}").write_bytes(array.array(code, values).tobytes())
        arguments.append(f'%{letter}{name}: {type_} loc("{letter}.{name}")')
        data.append(f"--data={letter}.{name}={folder / f'{letter}.{name}'}:{'u' if name[0] == 'u' else 'i'}{bits}")
    lines.append(f"%r{name} = stablehlo.power %x{name}, %y{name} : {type_}")
    results.append((f"%r{name}", type_))
    expected[f"out{len(expected)}"] = (name, pairs, [power(base, exponent, bits, name[0] == "u") for base, exponent in pairs])
types = ", ".join(type_ for _, type_ in results)
(folder / "g.mlir").write_text(f"module {{ func.func public @main({', '.join(arguments)}) -> ({types}) {{\n" + "\n".join(lines) +
                               f"\nreturn {', '.join(value for value, _ in results)} : {types}\n}} }}\n", encoding="utf-8")
(folder / "s.textproto").write_text('mesh { axes { name: "dp" size: 1 } }', encoding="utf-8")
subprocess.run(["dist-opt", folder / "g.mlir", f"--strategy={folder / 's.textproto'}", f"--emit={folder / 'p'}", "--quiet"], check=True)
subprocess.run(["dist-run", folder / "p", *data, f"--outputs={folder / 'outputs'}", "--quiet"], check=True)
content = (folder / "outputs").read_bytes()
header = json.loads(content[8:8 + struct.unpack("<Q", content[:8])[0]])
begin = len(content) - max(entry["data_offsets"][1] for key, entry in header.items() if key != "__metadata__")
for key, (name, pairs, wanted) in expected.items():
    first, last = header[key]["data_offsets"]
    found = array.array(TYPES[name][0], content[begin + first:begin + last]).tolist()
    wrong = [(pair, one, other) for pair, one, other in zip(pairs, found, wanted) if one != other]
    assert len(found) == len(wanted) and not wrong, f"{name}: {wrong[:5]}"
