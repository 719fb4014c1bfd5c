# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of each element."""

from __future__ import annotations

import math

from .._text import is_float
from ._table import TABLE, operation

# Operations of one operand that have one of the same meaning and derivative.
_UNARY = {
    "neg": "negate", "exp": "exponential", "expm1": "exponential_minus_one", "log": "log", "log1p": "log_plus_one", "sqrt": "sqrt",
    "rsqrt": "rsqrt", "sin": "sine", "cos": "cosine", "tan": "chlo.tan", "tanh": "tanh", "sigmoid": "logistic", "erf": "chlo.erf",
    "erfc": "chlo.erfc", "floor": "floor", "ceil": "ceil", "round": "round_nearest_even", "sign": "sign", "asin": "chlo.asin",
    "acos": "chlo.acos", "asinh": "chlo.asinh", "acosh": "chlo.acosh", "atanh": "chlo.atanh", "sinh": "chlo.sinh", "cosh": "chlo.cosh",
    "lgamma": "chlo.lgamma", "digamma": "chlo.digamma", "bitwise_not": "not",
}


def _unary(name: str):
    def entry(c, x):
        return c.b.unary(name, *c.operands(x))

    return entry


for _name, _stablehlo in _UNARY.items():
    TABLE[f"aten.{_name}.default"] = _unary(_stablehlo)


@operation("aten.abs.default")
def absolute(c, x):
    """The product with the sign, whose derivative is 0 at 0."""
    return c.b.multiply(x, c.b.unary("sign", x))


@operation("aten.relu.default")
def relu(c, x):
    return c.b.binary("maximum", x, c.b.like(x, 0))


@operation("aten.reciprocal.default")
def reciprocal(c, x):
    x, = c.operands(x)
    return c.b.divide(c.b.like(x, 1), x)


@operation("aten.log2.default")
def log2(c, x):
    return c.b.scale(c.b.unary("log", *c.operands(x)), 1 / math.log(2))


@operation("aten.log10.default")
def log10(c, x):
    return c.b.scale(c.b.unary("log", *c.operands(x)), 1 / math.log(10))


@operation("aten.exp2.default")
def exp2(c, x):
    return c.b.unary("exponential", c.b.scale(c.operands(x)[0], math.log(2)))


@operation("aten.atan.default")
def atan(c, x):
    x, = c.operands(x)
    return c.b.binary("atan2", x, c.b.like(x, 1))


@operation("aten.trunc.default", "aten.fix.default")
def trunc(c, x):
    if not is_float(x.element):
        return x
    return c.b.multiply(c.b.unary("sign", x), c.b.unary("floor", c.b.unary("abs", x)))


@operation("aten.isnan.default")
def isnan(c, x):
    return c.b.compare("NE", x, x)


@operation("aten.isinf.default")
def isinf(c, x):
    if not is_float(x.element):
        return c.b.constant(False, x.shape, "i1")
    return c.b.compare("EQ", c.b.unary("abs", x), c.b.like(x, math.inf))


# Activations


@operation("aten.gelu.default")
def gelu(c, x, *, approximate="none"):
    b, half = c.b, c.b.scale(x, 0.5)
    if approximate == "tanh":
        cubed = b.multiply(b.multiply(x, x), x)
        inner = b.scale(b.add(x, b.scale(cubed, 0.044715)), math.sqrt(2 / math.pi))
        return b.multiply(half, b.shift(b.unary("tanh", inner), 1))
    return b.multiply(half, b.shift(b.unary("chlo.erf", b.scale(x, math.sqrt(0.5))), 1))


@operation("aten.silu.default")
def silu(c, x):
    return c.b.multiply(x, c.b.unary("logistic", x))


@operation("aten.leaky_relu.default")
def leaky_relu(c, x, negative_slope=0.01):
    return c.b.select(c.b.compare("GT", x, c.b.like(x, 0)), x, c.b.scale(x, negative_slope))


@operation("aten.elu.default")
def elu(c, x, alpha=1, scale=1, input_scale=1):
    b, positive = c.b, c.b.compare("GT", x, c.b.like(x, 0))
    # Positive elements do not enter the exponential, which could overflow.
    low = b.select(positive, b.like(x, 0), x)
    bent = b.scale(b.unary("exponential_minus_one", b.scale(low, input_scale)), alpha * scale)
    return b.select(positive, b.scale(x, scale), bent)


@operation("aten.clamp.default", "aten.hardtanh.default")
def clamp(c, x, min=None, max=None):
    """Maximum and minimum with constants, whose derivative is 0 at the bounds."""
    x, = c.operands(x)
    x = x if min is None else c.b.binary("maximum", x, c.b.like(x, min))
    return x if max is None else c.b.binary("minimum", x, c.b.like(x, max))


@operation("aten.clamp_min.default")
def clamp_min(c, x, min):
    return clamp(c, x, min)


@operation("aten.clamp_max.default")
def clamp_max(c, x, max):
    return clamp(c, x, None, max)


# Functions of two operands


def _plus(c, x, y, alpha, name):
    x, y = c.operands(x, y)
    if alpha != 1:
        y = c.b.multiply(y, c.value(alpha, y.shape, y.element))
    return c.b.binary(name, x, y)


@operation("aten.add.Tensor", "aten.add.Scalar")
def add(c, x, y, alpha=1):
    return _plus(c, x, y, alpha, "add")


@operation("aten.sub.Tensor", "aten.sub.Scalar")
def sub(c, x, y, alpha=1):
    return _plus(c, x, y, alpha, "subtract")


@operation("aten.rsub.Tensor", "aten.rsub.Scalar")
def rsub(c, x, y, alpha=1):
    return _plus(c, y, x, alpha, "subtract")


@operation("aten.mul.Tensor", "aten.mul.Scalar")
def mul(c, x, y):
    return c.b.multiply(*c.operands(x, y))


def _floor_quotient(c, x, y):
    """The quotient of integers or floats, rounded down."""
    b, quotient = c.b, c.b.divide(x, y)
    if is_float(x.element):
        return b.unary("floor", quotient)
    rest = b.binary("remainder", x, y)
    zero = b.like(x, 0)
    differs = b.compare("NE", b.compare("LT", rest, zero), b.compare("LT", y, zero))
    below = b.binary("and", b.compare("NE", rest, zero), differs)
    return b.subtract(quotient, b.convert(below, x.element))


@operation("aten.div.Tensor", "aten.div.Scalar")
def div(c, x, y):
    return c.b.divide(*c.operands(x, y))


@operation("aten.div.Tensor_mode", "aten.div.Scalar_mode")
def div_mode(c, x, y, *, rounding_mode=None):
    x, y = c.operands(x, y)
    if rounding_mode == "floor":
        return _floor_quotient(c, x, y)
    quotient = c.b.divide(x, y)
    return trunc(c, quotient) if rounding_mode == "trunc" else quotient


@operation("aten.floor_divide.default")
def floor_divide(c, x, y):
    return _floor_quotient(c, *c.operands(x, y))


@operation("aten.fmod.Tensor", "aten.fmod.Scalar")
def fmod(c, x, y):
    return c.b.binary("remainder", *c.operands(x, y))


@operation("aten.remainder.Tensor", "aten.remainder.Scalar")
def remainder(c, x, y):
    """The rest with the sign of the divisor."""
    b, (x, y) = c.b, c.operands(x, y)
    rest, zero = b.binary("remainder", x, y), b.like(x, 0)
    differs = b.compare("NE", b.compare("LT", rest, zero), b.compare("LT", y, zero))
    return b.select(b.binary("and", b.compare("NE", rest, zero), differs), b.add(rest, y), rest)


@operation("aten.atan2.default")
def atan2(c, x, y):
    """Two zeros have no gradient."""
    b, (x, y) = c.b, c.operands(x, y)
    zeros = b.binary("and", b.compare("EQ", x, b.like(x, 0)), b.compare("EQ", y, b.like(y, 0)))
    return b.binary("atan2", *(b.select(zeros, b.stop_gradient(value), value) for value in (x, y)))


@operation("aten.hypot.default")
def hypot(c, x, y):
    b, (x, y) = c.b, c.operands(x, y)
    return b.unary("sqrt", b.add(b.multiply(x, x), b.multiply(y, y)))


@operation("aten.xlogy.Tensor")
def xlogy(c, x, y):
    """Zero times any logarithm is 0, also where that is infinite."""
    b, (x, y) = c.b, c.operands(x, y)
    outside = b.binary("or", b.compare("LE", y, b.like(y, 0)), b.compare("EQ", y, b.like(y, math.inf)))
    nothing = b.binary("and", b.compare("EQ", x, b.like(x, 0)), outside)
    return b.multiply(x, b.unary("log", b.select(nothing, b.like(y, 1), y)))


def _power_of_number(c, x, exponent):
    b = c.b
    if exponent in (2, 3):
        square = b.multiply(x, x)
        return square if exponent == 2 else b.multiply(square, x)
    if exponent == 0.5:
        return b.unary("sqrt", x)
    if exponent == -0.5:
        return b.unary("rsqrt", x)
    if exponent == 1:
        return x
    if exponent == -1 and is_float(x.element):
        return b.divide(b.like(x, 1), x)
    return b.binary("power", x, b.like(x, exponent))


@operation("aten.pow.Tensor_Scalar")
def pow_scalar(c, x, exponent):
    return _power_of_number(c, c.operands(x)[0], exponent)


@operation("aten.pow.Scalar", "aten.pow.Tensor_Tensor")
def pow_tensor(c, x, exponent):
    """A base has no gradient where the exponent is 0."""
    b, (x, exponent) = c.b, c.operands(x, exponent)
    if is_float(x.element) and x.varies:
        x = b.select(b.compare("EQ", exponent, b.like(exponent, 0)), b.stop_gradient(x), x)
    return b.binary("power", x, exponent)


def _extremum(c, name, beyond, x, y):
    """Halves the gradient at ties. Train gives a tie with a constant no gradient, so there the tie is a sum of its own."""
    b, (x, y) = c.b, c.operands(x, y)
    if not is_float(x.element) or (x.varies and y.varies):
        return b.binary(name, x, y)
    # At a tie x + (y - x) / 2 is x, and depends half on each; equal infinities have no difference.
    middle = b.add(x, b.scale(b.subtract(y, x), 0.5))
    tied = b.binary("and", b.compare("EQ", x, y), b.is_finite(x))
    either = b.select(b.compare(beyond, x, y), x, y)
    either = b.select(b.compare("NE", x, x), x, either)
    return b.select(tied, middle, either)


@operation("aten.maximum.default")
def maximum(c, x, y):
    return _extremum(c, "maximum", "GT", x, y)


@operation("aten.minimum.default")
def minimum(c, x, y):
    return _extremum(c, "minimum", "LT", x, y)


@operation("aten.clamp.Tensor")
def clamp_tensor(c, x, min=None, max=None):
    """Bounds that are tensors have gradients: half of it at ties."""
    x = x if min is None else maximum(c, x, min)
    return x if max is None else minimum(c, x, max)


@operation("aten.clamp_min.Tensor")
def clamp_min_tensor(c, x, min):
    return maximum(c, x, min)


@operation("aten.clamp_max.Tensor")
def clamp_max_tensor(c, x, max):
    return minimum(c, x, max)


# Comparisons, logic, choice


def _comparison(direction):
    def entry(c, x, y):
        return c.b.compare(direction, *c.promoted(x, y))

    return entry


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    for _overload in ("Tensor", "Scalar"):
        TABLE[f"aten.{_name}.{_overload}"] = _comparison(_name.upper())


def _bitwise(name):
    def entry(c, x, y):
        return c.b.binary(name, *c.operands(x, y))

    return entry


def _logical(name):
    def entry(c, x, y):
        return c.b.binary(name, *(c.value(value, c.shape, "i1") for value in (x, y)))

    return entry


for _name in ("and", "or", "xor"):
    for _overload in ("Tensor", "Scalar"):
        TABLE[f"aten.bitwise_{_name}.{_overload}"] = _bitwise(_name)
    TABLE[f"aten.logical_{_name}.default"] = _logical(_name)


@operation("aten.logical_not.default")
def logical_not(c, x):
    return c.b.compare("EQ", x, c.b.like(x, 0))


@operation("aten.bitwise_left_shift.Tensor", "aten.bitwise_left_shift.Tensor_Scalar", "aten.__lshift__.Scalar")
def left_shift(c, x, y):
    return c.b.binary("shift_left", *c.operands(x, y))


@operation("aten.bitwise_right_shift.Tensor", "aten.bitwise_right_shift.Tensor_Scalar", "aten.__rshift__.Scalar")
def right_shift(c, x, y):
    x, y = c.operands(x, y)
    return c.b.binary("shift_right_logical" if x.element.startswith("u") else "shift_right_arithmetic", x, y)


@operation("aten.where.self", "aten.where.ScalarSelf", "aten.where.ScalarOther", "aten.where.Scalar")
def where(c, condition, x, y):
    return c.b.select(c.value(condition, c.shape, "i1"), *c.operands(x, y))


@operation("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def masked_fill(c, x, mask, value):
    return where(c, mask, value, x)


# Types


@operation("aten._to_copy.default", "aten.to.dtype")
def to_copy(c, x, *_, **__):
    return c.b.convert(x, c.element)


@operation("aten.clone.default", "aten.alias.default", "aten.lift_fresh_copy.default", "aten.contiguous.default", "prims.view_of.default")
def same(c, x, **_):
    return x


@operation("aten.copy.default")
def copy(c, x, source, *_):
    return c.operands(source)[0]


@operation("aten.detach.default", "meshwright.stop_gradient.default")
def stop_gradient(c, x):
    return c.b.stop_gradient(x)


# Numbers that no operand has


@operation("aten.full.default", "aten.full_like.default", "aten.fill.Scalar")
def full(c, _, number, **__):
    return c.value(number, c.shape, c.element)


@operation("aten.new_full.default")
def new_full(c, _, __, number, **___):
    return c.value(number, c.shape, c.element)


@operation("aten.scalar_tensor.default")
def scalar_tensor(c, number, **_):
    return c.value(number, c.shape, c.element)


@operation("aten.zeros.default", "aten.zeros_like.default", "aten.new_zeros.default", "aten.empty.memory_format", "aten.empty_permuted.default",
           "aten.empty_like.default", "aten.empty_strided.default")
def zeros(c, *_, **__):
    return c.value(0, c.shape, c.element)


@operation("aten.ones.default", "aten.ones_like.default", "aten.new_ones.default")
def ones(c, *_, **__):
    return c.value(1, c.shape, c.element)


@operation("aten.arange.start_step", "aten.arange.start", "aten.arange.default")
def arange(c, *bounds, **_):
    start, _, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1) if len(bounds) == 2 else bounds
    if int(start) == start and int(step) == step:
        numbers = c.b.iota(c.shape, 0, c.element)
        return c.b.shift(c.b.scale(numbers, step), start)
    return c.b.constant([start + index * step for index in range(c.shape[0])], c.shape, c.element)
