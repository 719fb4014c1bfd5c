# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random numbers, drawn from the key that is an input of the step: other numbers than PyTorch draws, of the same distribution."""

from __future__ import annotations

from .._text import Value, is_float
from ._table import operation, refuse

# The bits of a float below 1 with all digits of the mantissa, by the digits.
_MANTISSA = {"f64": 52, "f32": 23}


def uniform(c, shape, element: str) -> Value:
    """Numbers of [0, 1): the mantissas of numbers of [1, 2)."""
    b = c.b
    precise = element if element in _MANTISSA else "f32"
    bits = "ui64" if precise == "f64" else "ui32"
    drawn = c.random_bits(shape, bits)
    width, digits = int(bits[2:]), _MANTISSA[precise]
    mantissa = b.binary("shift_right_logical", drawn, b.like(drawn, width - digits))
    one = {"f64": 1023 << 52, "f32": 127 << 23}[precise]
    number = b.bitcast(b.binary("or", mantissa, b.like(mantissa, one)), shape, precise)
    return b.convert(b.shift(number, -1), element)


@operation("aten.native_dropout.default")
def dropout(c, x, probability, training):
    """Keeps elements with the complementary probability, scaled by its inverse; the second result says which."""
    b = c.b
    if training is False or probability == 0:
        return [x, b.constant(True, x.shape, "i1")]
    if probability == 1:
        return [b.like(x, 0), b.constant(False, x.shape, "i1")]
    chance = uniform(c, x.shape, "f32")
    keep = b.compare("GE", chance, b.like(chance, probability))
    return [b.select(keep, b.scale(x, 1 / (1 - probability)), b.like(x, 0)), keep]


@operation("aten.rand.default", "aten.rand_like.default")
def rand(c, *_, **__):
    return uniform(c, c.shape, c.element)


@operation("aten.bernoulli.p", "aten.bernoulli.default")
def bernoulli(c, x, probability=None, **_):
    b = c.b
    chance = uniform(c, x.shape, "f32")
    probability = b.convert(x, "f32") if probability is None else b.like(chance, probability)
    return b.convert(b.compare("LT", chance, probability), c.element)


@operation("aten.randn.default", "aten.randn_like.default")
def randn(c, *_, **__):
    """Normal numbers: the inverse of their distribution function, of uniform ones of (−1, 1)."""
    b, element = c.b, c.element
    refuse(not is_float(element), f"draws {element}")
    precise = element if element in _MANTISSA else "f32"
    number = uniform(c, c.shape, precise)
    # The middle of each step, which keeps the ends out.
    number = b.shift(b.scale(number, 2), -1 + 2.0**-_MANTISSA[precise])
    return b.convert(b.scale(b.unary("chlo.erf_inv", number), 2**0.5), element)


@operation("aten.randint.low", "aten.randint.default")
def randint(c, *bounds, **_):
    b = c.b
    low, high = (0, bounds[0]) if isinstance(bounds[1], (list, tuple)) else bounds[:2]
    bits = c.random_bits(c.shape, "ui64")
    return b.shift(b.convert(b.binary("remainder", bits, b.like(bits, high - low)), c.element), low)
