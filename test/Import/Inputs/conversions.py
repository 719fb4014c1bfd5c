# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Conversions between all types of elements: conversions.py graph GRAPH BATCH writes a graph of them and its inputs, and
conversions.py check OUTPUTS… compares what came out with exact arithmetic, rounded once.

Floats of 8 and 16 bits go in and out as their bits, all of them. f32 and f64 are the numbers where rounding changes: all numbers of the
narrower types, the middles between neighbors, and what is beside both; integers are powers of two, the same middles and what is beside them.
"""
import os
import sys

import numpy as np
import plain_safetensors

# By name in StableHLO: bits of the mantissa, bias of the exponent, and where numbers end: "inf" has an infinity before NaN, "nan" has all bits set as
# NaN alone, "zero" has the bits of -0 as NaN.
FLOATS = {
    "f64": (52, 1023, "inf"), "f32": (23, 127, "inf"), "f16": (10, 15, "inf"), "bf16": (7, 127, "inf"), "f8E5M2": (2, 15, "inf"),
    "f8E4M3": (3, 7, "inf"), "f8E3M4": (4, 3, "inf"), "f8E4M3FN": (3, 7, "nan"), "f8E4M3FNUZ": (3, 8, "zero"),
    "f8E5M2FNUZ": (2, 16, "zero"), "f8E4M3B11FNUZ": (3, 11, "zero"),
}
# CONVERSIONS_ALL=1 takes the numbers and middles of the types of 16 bits all, which takes minutes.
ALL = "CONVERSIONS_ALL" in os.environ
INTEGERS = ["i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"]
NARROW = [name for name in FLOATS if name not in ("f64", "f32")]


def width(name):
    return 8 if name.startswith("f8") else int(name.lstrip("uibf"))


def last(name):
    """The bits of the largest number."""
    mantissa, _, end = FLOATS[name]
    everything = (1 << (width(name) - 1)) - 1
    if end == "inf":
        return (everything >> mantissa << mantissa) - 1
    return everything - (end == "nan")


def decode(name, bits):
    """The numbers of bits, as f64, which holds those of all types."""
    mantissa, bias, end = FLOATS[name]
    bits = bits.astype(np.int64)
    counter = bits & ((1 << (width(name) - 1)) - 1)
    negative = bits >> (width(name) - 1) & 1 == 1
    exponent = np.maximum(counter >> mantissa, 1)
    whole = (counter & ((1 << mantissa) - 1)) + ((counter >> mantissa != 0) << mantissa)
    value = np.ldexp(whole.astype(np.float64), (exponent - bias - mantissa).astype(np.int64))
    value = np.where(counter > last(name), np.inf if end == "inf" else np.nan, value)
    value = np.where(counter > last(name) + 1, np.nan, value) if end == "inf" else value
    value = np.where(negative, -value, value)
    return np.where(bits == 1 << (width(name) - 1), np.nan, value) if end == "zero" else value


def encode(name, values):
    """The bits nearest to values of f64, ties to even; NaN is -1."""
    mantissa, bias, end = FLOATS[name]
    size = np.abs(np.where(np.isfinite(values), values, 0))
    exponent = np.where(size == 0, 1 - bias, np.maximum(np.frexp(size)[1] - 1, 1 - bias))
    # Multiples of the last bit: exact but for the rounding, because all that is not a power of two is below 2^53.
    whole = np.rint(np.ldexp(size, mantissa - exponent)).astype(np.int64)
    counter = whole + ((exponent - (1 - bias)).astype(np.int64) << mantissa)
    counter = np.where(np.isinf(values), last(name) + 1, np.minimum(counter, last(name) + 1))
    return finish(name, counter, np.signbit(values), np.isnan(values))


def finish(name, counter, negative, is_nan):
    end = FLOATS[name][2]
    beyond = counter > last(name)
    bits = counter + (negative.astype(np.int64) << (width(name) - 1))
    bits = np.where((counter == 0) & (end == "zero"), 0, bits)
    return np.where(is_nan | (beyond & (end != "inf")), -1, bits)


def encode_exactly(name, numbers):
    """The same of integers, by arithmetic on integers of any size."""
    mantissa, bias, _ = FLOATS[name]
    counters = []
    for size in map(abs, numbers):
        exponent = max(size.bit_length() - 1, 1 - bias) if size else 1 - bias
        whole = size << max(mantissa - exponent, 0)
        if exponent > mantissa:
            unit = 1 << (exponent - mantissa)
            whole, rest = divmod(size, unit)
            whole += 2 * rest > unit or (2 * rest == unit and whole % 2)
        counters.append(min(whole + ((exponent - (1 - bias)) << mantissa), last(name) + 1))
    return finish(name, np.array(counters), np.array(numbers) < 0, np.array(False))


def middles(name):
    """Numbers of a type from zero on, the middles between them and their neighbors, and where infinity begins."""
    numbers = decode(name, np.arange(last(name) + 1))
    middle = np.append((numbers[1:] + numbers[:-1]) / 2, numbers[-1] + (numbers[-1] - numbers[-2]) / 2)
    # All of 8 bits; of 16 bits a sample in which even and odd ones, the least and the largest are.
    step = 1 if width(name) == 8 or ALL else 37
    chosen = np.unique(np.concatenate([np.arange(0, numbers.size, step), np.arange(5), numbers.size - 1 - np.arange(5)]))
    return np.concatenate([numbers[chosen], middle[chosen]])


def make_floats(dtype):
    points = np.concatenate([middles(name) for name in NARROW])
    points = np.unique(np.concatenate([points, [2.0**63, 2.0**64, 2.0**31, 2.0**32, 65535, 65536, 32767.5, 255.5, 127.5]]))
    with np.errstate(over="ignore"):
        near = np.unique(points.astype(dtype))
    far = [np.nextafter(near, dtype(np.inf)), np.nextafter(near[1:], dtype(0))]
    # Beside a middle by so little that f32 does not hold it.
    far.append((near * dtype(1 + 2.0**-40)) if dtype == np.float64 else near[:0])
    values = np.unique(np.concatenate([near, *far]))
    return np.concatenate([values, -values, [np.inf, -np.inf, np.nan, np.finfo(dtype).max, np.finfo(dtype).smallest_subnormal]]).astype(dtype)


def make_integers(name):
    low, high = (0, 2 ** width(name) - 1) if name.startswith("u") else (-(2 ** (width(name) - 1)), 2 ** (width(name) - 1) - 1)
    points = {0, 1, 2, low, low + 1, high, high - 1}
    for power in range(width(name) + 1):
        for mantissa in (2, 3, 4, 7, 10, 23):
            for start in (0, 1, 2**mantissa - 1):
                middle = (2**mantissa + start) * 2 + 1 << power
                points |= {sign * (middle + by) for sign in (1, -1) for by in (-1, 0, 1)}
        points |= {sign * (2**power + by) for sign in (1, -1) for by in (-1, 0, 1)}
    return np.array(sorted(point for point in points if low <= point <= high), dtype=("u" if name.startswith("u") else "") + f"int{width(name)}")


def make_inputs():
    inputs = {name: np.arange(2 ** width(name), dtype=np.dtype(f"u{width(name) // 8}")) for name in NARROW}
    inputs |= {"f32": make_floats(np.float32), "f64": make_floats(np.float64), "i1": np.array([False, True])}
    return inputs | {name: make_integers(name) for name in INTEGERS}


def write_graph(path, inputs):
    """Every input is converted to every other type; floats of 8 and 16 bits come and go as their bits."""
    arguments, results, types, lines = [], [], [], []
    for source, array in inputs.items():
        bits = f"ui{width(source)}" if source in NARROW else source
        arguments.append(f'%{source}: tensor<{array.size}x{bits}> loc("{source}")')
        value = f"%{source}"
        if source in NARROW:
            value = f"%{source}_numbers"
            lines.append(f"{value} = stablehlo.bitcast_convert %{source} : (tensor<{array.size}x{bits}>) -> tensor<{array.size}x{source}>")
        for target in inputs:
            if target == source:
                continue
            name, shape = f"%{source}_{target}", f"tensor<{array.size}x"
            lines.append(f"{name} = stablehlo.convert {value} : ({shape}{source}>) -> {shape}{target}>")
            out = target
            if target in NARROW:
                out = f"ui{width(target)}"
                lines.append(f"{name}_bits = stablehlo.bitcast_convert {name} : ({shape}{target}>) -> {shape}{out}>")
                name += "_bits"
            results.append((name, f'{shape}{out}> {{jax.result_info = "{source}_{target}"}}'))
            types.append(f"{shape}{out}>")
    add_constants(lines, results, types)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"module @conversions {{\n  func.func public @main({', '.join(arguments)})\n      -> ({', '.join(text for _, text in results)}) {{\n    ")
        file.write("\n    ".join(lines) + f"\n    return {', '.join(name for name, _ in results)} : {', '.join(types)}\n  }}\n}}\n")


# Constants that the compiler converts: doubles next to the middle of two neighbors, and values just below the overflow of f16.
CONSTANTS = [1 + 2.0**-11 + 2.0**-40, 1 + 2.0**-11 - 2.0**-40, 1 + 2.0**-8 + 2.0**-40, 65519.9999999]


def add_constants(lines, results, types):
    for at, number in enumerate(CONSTANTS):
        bits = np.array(number).view(np.uint64)
        lines.append(f"%c{at} = stablehlo.constant dense<0x{int(bits):016X}> : tensor<f64>")
        for target in ("f16", "bf16"):
            lines.append(f"%c{at}_{target} = stablehlo.convert %c{at} : (tensor<f64>) -> tensor<{target}>")
            lines.append(f"%c{at}_{target}_bits = stablehlo.bitcast_convert %c{at}_{target} : (tensor<{target}>) -> tensor<ui16>")
            results.append((f"%c{at}_{target}_bits", f'tensor<ui16> {{jax.result_info = "constant{at}_{target}"}}'))
            types.append("tensor<ui16>")


def to_integer(values, name):
    """Towards zero; the nearest that there is, and 0 for NaN."""
    low, high = (0, 2 ** width(name) - 1) if name.startswith("u") else (-(2 ** (width(name) - 1)), 2 ** (width(name) - 1) - 1)
    whole = np.trunc(np.where(np.isnan(values), 0, values))
    dtype = np.uint64 if name.startswith("u") else np.int64
    inside = np.where((whole < float(high + 1 if high > 2**53 else high)) & (whole > float(low)), whole, 0).astype(dtype)
    result = np.where(whole >= float(high), dtype(high), inside)
    return np.where(whole <= float(low), dtype(low), result)


def expect(source, target, array):
    """The result of a conversion: bits of narrow floats, with -1 for NaN, and numbers for all other types."""
    if source in FLOATS:
        values = decode(source, array) if source in NARROW else array.astype(np.float64)
        if target == "i1":
            return values != 0
        with np.errstate(over="ignore"):
            return encode(target, values) if target in NARROW else values.astype(target.replace("f", "float")) if target in FLOATS else to_integer(values, target)
    if target == "i1":
        return array != 0
    if target in INTEGERS:
        return array.astype(("u" if target.startswith("u") else "") + f"int{width(target)}")
    codes = encode_exactly(target, [int(number) for number in array])
    return codes if target in NARROW else decode(target, codes)


def flush(name, array):
    """The same with zeros for numbers below the least normal one, of the types with which processors compute."""
    if name == "bf16":
        return np.where(np.asarray(array) & 0x7F80 == 0, array & 0x8000, array)
    if name not in ("f32", "f64"):
        return array
    return np.where(np.abs(array) < np.finfo(array.dtype).tiny, np.copysign(array.dtype.type(0), array), array)


def check(files):
    """Compares each of the files; what is expected is computed once. The second, of a program on a CPU, may flush denormals."""
    inputs, results, checked = make_inputs(), [plain_safetensors.read(path) for path in files], []
    for name in list(results[0]):
        source, target = name.split("_")
        given = np.array(CONSTANTS[int(source[8:])]) if source.startswith("constant") else inputs[source]
        kind = "f64" if source.startswith("constant") else source
        expected, flushed = expect(kind, target, given), flush(target, expect(kind, target, flush(kind, given)))

        def agrees(result, other):
            same = result == other
            if target in ("f32", "f64"):
                same = (same & (np.signbit(result) == np.signbit(other))) | (np.isnan(result) & np.isnan(other))
            return same

        for path, result in ((path, found.pop(name)) for path, found in zip(files, results)):
            if target in NARROW:
                result = np.where(np.isnan(decode(target, result)), -1, result.astype(np.int64))
            same = agrees(result, expected)
            if path == files[1]:
                same |= agrees(result, flushed)
            if not np.all(same):
                at = np.argmin(same)
                sys.exit(f"{path}: {name}: {np.sum(~same)} of {same.size} differ: {np.ravel(given)[at]!r} is {np.ravel(result)[at]}, not {np.ravel(expected)[at]}")
        checked.append(name)
    left = sorted(set().union(*results))
    print(f"{len(checked)} conversions agree in {len(files)} files" if not left else f"only some files have {left}")


if sys.argv[1] == "graph":
    write_graph(sys.argv[2], make_inputs())
    plain_safetensors.write(sys.argv[3], make_inputs())
else:
    check(sys.argv[2:])
