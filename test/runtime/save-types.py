#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that weights are rounded to other floats once, to nearest even: by `dist-ckpt export --dtype` and by `dist-run --save-dtype`.

f16 is compared with numpy; bf16 with a search over all of its values, in exact fractions.
"""
# RUN: rm -rf %t && mkdir %t && make-test-package %t/plain
# RUN: %python %s %t
import bisect
import fractions
import json
import pathlib
import struct
import sys

import numpy as np

import plain_safetensors
from stopped_runs import Runs, call

folder = pathlib.Path(sys.argv[1])


def read_raw(path):
    """The type and the bits of every tensor of 16 bits."""
    data = path.read_bytes()
    size, = struct.unpack("<Q", data[:8])
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = (entry["dtype"], np.frombuffer(data[begin:end], "<u2"))
    return tensors


BF16 = [fractions.Fraction(float(np.uint32(bits << 16).view("f4"))) for bits in range(0x7f80)]


def to_bf16(value):
    """The bits of the nearest bf16, of two the even one."""
    sign = 0x8000 if np.signbit(value) else 0
    if not np.isfinite(value):
        return sign | (0x7f80 if np.isinf(value) else 0x7fc0)
    exact = abs(fractions.Fraction(float(value)))
    above = bisect.bisect_left(BF16, exact)
    if BF16[above] == exact:
        return sign | above
    twice = BF16[above - 1] + BF16[above] - 2 * exact
    return sign | (above - 1 if twice > 0 or (twice == 0 and above % 2) else above)


random = np.random.default_rng(1)
finite = random.standard_normal(2000) * 2.0 ** random.integers(-30, 14, 2000)
# Values whose rounding to f32 first would make or hide a tie, at every place; ties; denormals; the largest; what is none.
ties = np.concatenate([scale * (1 + step * ulp + ulp / 2 + sign * 2.0**-45) for ulp in (2.0**-10, 2.0**-7) for scale in (1.0, 2.0**-14, 3 * 2.0**-9)
                       for sign in (-1, 0, 1) for step in np.arange(8)[None].T])
tiny = np.array([0.0, -0.0, 2.0**-24, 2.0**-25, 2.0**-25 * (1 + 2.0**-40), 3 * 2.0**-25, 5e-324, -5e-324, 2.0**-133, 2.0**-134, 2.0**-140])
ends = np.array([65504.0, 65519.9999999, -65504.0, np.inf, -np.inf, np.nan])
values = np.concatenate([finite, ties.ravel(), tiny, ends])
inputs = {"a.f64": values, "b.f32": np.where(values == 65519.9999999, 1, values).astype("f4"), "c.i32": np.arange(5, dtype="i4"), "d.none": np.zeros((0, 3), "f4"),
          "e.f16": values[:1999].astype("f2")}
plain_safetensors.write(folder / "in.safetensors", inputs)
call("dist-ckpt", "import", folder / "in.safetensors", folder / "c")

call("dist-ckpt", "export", folder / "c", folder / "half.safetensors", "--dtype=f16")
half = read_raw(folder / "half.safetensors")
bfloat_path = folder / "parts"
call("dist-ckpt", "export", folder / "c", bfloat_path, "--dtype=bf16", "--shard=9000")
index = json.loads((bfloat_path / "model.safetensors.index.json").read_text())
assert index["metadata"]["total_size"] == sum(array.nbytes if name == "c.i32" else 2 * array.size for name, array in inputs.items()), index
assert len(set(index["weight_map"].values())) > 1
for name, array in inputs.items():
    kind, bits = half[name]
    file_kind, found = read_raw(bfloat_path / index["weight_map"][name])[name]
    if name == "c.i32":
        assert kind == file_kind == "I32"
        continue
    assert kind == "F16" and file_kind == "BF16", (name, kind, file_kind)
    with np.errstate(all="ignore"):
        expected = array.astype("f2")
    same = (bits == expected.ravel().view("u2")) | (np.isnan(bits.view("f2")) & np.isnan(expected.ravel()))
    assert same.all(), (name, array[~same][:3], bits.view("f2")[~same][:3], expected[~same][:3])
    expected = np.array([to_bf16(value) for value in array.ravel()], "u2")
    same = (found == expected) | ((found & 0x7fff > 0x7f80) & (expected & 0x7fff > 0x7f80))
    assert same.all(), (name, array[~same][:3], found[~same][:3], expected[~same][:3])

# f32 and f64 as numpy has them; the type that is there already changes nothing.
for name, kind in ("f32", "f4"), ("f64", "f8"):
    call("dist-ckpt", "export", folder / "c", folder / "wide.safetensors", f"--dtype={name}")
    for key, array in plain_safetensors.read(folder / "wide.safetensors").items():
        expected = inputs[key] if key == "c.i32" else inputs[key].astype(kind)
        assert array.dtype == expected.dtype and np.array_equal(array, expected, equal_nan=array.dtype.kind == "f"), key

# An overflow is an error and leaves no file.
plain_safetensors.write(folder / "large.safetensors", {"w": np.array([1.0, 65520.0, -7e4])})
call("dist-ckpt", "import", folder / "large.safetensors", folder / "large")
text = call("dist-ckpt", "export", folder / "large", folder / "out.safetensors", "--dtype=f16", expect=1)
assert 'error: variable "w": element 1 is 65520, which is too large for f16, as 2 of 3 elements are' in text, text
assert not (folder / "out.safetensors").exists()
call("dist-ckpt", "export", folder / "large", folder / "out.safetensors", "--dtype=bf16")
for more, message in ((["--dtype=i8"], '--dtype: "i8" is no type of floats, as bf16, f16, f32 and f64 are'), (["--dtype"], "--dtype wants =TYPE")):
    assert message in call("dist-ckpt", "export", folder / "c", folder / "x.safetensors", *more, expect=2)
assert "--dtype=f16 is of export, but verify changes no type" in call("dist-ckpt", "verify", folder / "c", "--dtype=f16", expect=2)

# The weights of a run, rounded by the first of its processes.
runs = Runs(folder)
call(*runs.command("plain", 7, f"--save={folder}/wide"))
wide = plain_safetensors.read(folder / "wide")["w"]
for more in [], ["--nproc=4"]:
    call(*runs.command("plain", 7, f"--save={folder}/narrow", "--save-dtype=bf16", *more))
    kind, bits = read_raw(folder / "narrow")["w"]
    assert kind == "BF16" and bits.tolist() == [to_bf16(value) for value in wide.ravel()]
assert "--save-dtype=f16 wants --save=FILE" in call(*runs.command("plain", 7, "--save-dtype=f16"), expect=2)
