# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Normalization over features, groups and the batch. Statistics of 16-bit values are of 32 bits."""

from __future__ import annotations

import math

from ._table import operation, refuse, wide
from .reduction import centered, mean_over


def _normalized(b, x, dims, eps):
    """The distance from the mean over `dims` divided by the deviation, the mean, the inverse deviation and the variance."""
    mean, rest = centered(b, x, dims)
    variance = mean_over(b, b.multiply(rest, rest), dims, keep=True)
    inverse = b.unary("rsqrt", b.shift(variance, eps))
    return b.multiply(rest, b.broadcast(inverse, x.shape)), mean, inverse, variance


def _scaled(b, x, weight, bias, dims):
    """Weights and biases of the dimensions `dims`."""
    if weight is not None:
        x = b.multiply(x, b.broadcast(b.convert(weight, x.element), x.shape, dims))
    if bias is not None:
        x = b.add(x, b.broadcast(b.convert(bias, x.element), x.shape, dims))
    return x


@operation("aten.native_layer_norm.default")
def layer_norm(c, x, shape, weight, bias, eps):
    b, element = c.b, c.element
    dims = list(range(x.rank - len(shape), x.rank))
    result, mean, inverse, _ = _normalized(b, b.convert(x, wide(element)), dims, eps)
    return [b.convert(_scaled(b, result, weight, bias, dims), element), mean, inverse]


@operation("aten._fused_rms_norm.default")
def rms_norm(c, x, shape, weight, eps):
    b, element = c.b, c.element
    dims = list(range(x.rank - len(shape), x.rank))
    x = b.convert(x, wide(element))
    # PyTorch adds the smallest step of the type where no number is given.
    eps = {"f64": 2.0**-52, "f32": 2.0**-23}[x.element] if eps is None else eps
    inverse = b.unary("rsqrt", b.shift(mean_over(b, b.multiply(x, x), dims, keep=True), eps))
    return [b.convert(_scaled(b, b.multiply(x, b.broadcast(inverse, x.shape)), weight, None, dims), element), inverse]


@operation("aten.native_group_norm.default")
def group_norm(c, x, weight, bias, count, channels, size, groups, eps):
    b, element = c.b, c.element
    parted = b.reshape(b.convert(x, wide(element)), [count, groups, channels // groups, size])
    result, mean, inverse, _ = _normalized(b, parted, [2, 3], eps)
    result = _scaled(b, b.reshape(result, x.shape), weight, bias, [1])
    return [b.convert(result, element), b.reshape(mean, [count, groups]), b.reshape(inverse, [count, groups])]


def _batch_norm(c, x, weight, bias, eps):
    """The result by the statistics of the batch; their mean, inverse deviation and variance."""
    b, element = c.b, c.element
    dims = [dim for dim in range(x.rank) if dim != 1]
    result, *statistics = _normalized(b, b.convert(x, wide(element)), dims, eps)
    return b.convert(_scaled(b, result, weight, bias, [1]), element), *(b.reshape(value, [x.shape[1]]) for value in statistics)


def _running(b, old, new, momentum):
    """The next running statistic, on which no gradient depends."""
    return b.add(b.scale(old, 1 - momentum), b.scale(b.convert(new, old.element), momentum))


def _by_running(c, x, weight, bias, mean, variance, eps):
    b = c.b
    x, mean, variance = (b.convert(value, wide(x.element)) for value in (x, mean, variance))
    inverse = b.unary("rsqrt", b.shift(variance, eps))
    result = b.multiply(b.subtract(x, b.broadcast(mean, x.shape, [1])), b.broadcast(inverse, x.shape, [1]))
    return b.convert(_scaled(b, result, weight, bias, [1]), c.element)


@operation("aten._native_batch_norm_legit_functional.default")
def batch_norm(c, x, weight, bias, running_mean, running_variance, training, momentum, eps):
    b = c.b
    if not training:
        none = b.constant(0, (0,), wide(x.element))
        return [_by_running(c, x, weight, bias, running_mean, running_variance, eps), none, none, running_mean, running_variance]
    refuse(momentum is None, "averages over all steps; give momentum")
    result, mean, inverse, variance = _batch_norm(c, x, weight, bias, eps)
    count = math.prod(x.shape) // x.shape[1]
    # Running variances are of a sample, those that normalize are of the batch.
    sample = b.scale(variance, count / (count - 1)) if count > 1 else b.scale(variance, math.nan)
    return [result, mean, inverse, _running(b, running_mean, mean, momentum), _running(b, running_variance, sample, momentum)]


@operation("aten._native_batch_norm_legit.no_stats")
def batch_norm_no_statistics(c, x, weight, bias, training, momentum, eps):
    return list(_batch_norm(c, x, weight, bias, eps)[:3])


@operation("aten._native_batch_norm_legit_no_training.default")
def batch_norm_no_training(c, x, weight, bias, running_mean, running_variance, momentum, eps):
    none = c.b.constant(0, (0,), wide(x.element))
    return [_by_running(c, x, weight, bias, running_mean, running_variance, eps), none, none]
