# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sums, means, extrema and their positions, softmax, running sums."""

from __future__ import annotations

import math

from ._table import TABLE, dim_of, dims_of, operation, refuse, wide


@operation("aten.sum.dim_IntList")
def sum_dims(c, x, dims=None, keepdim=False, *, dtype=None):
    return c.b.reduce("add", c.b.convert(x, c.element), dims_of(dims, x.rank), keepdim)


@operation("aten.sum.default")
def sum_all(c, x, *, dtype=None):
    return sum_dims(c, x)


def mean_over(b, x, dims, keep=False):
    count = math.prod(x.shape[dim] for dim in dims)
    total = b.reduce("add", x, dims, keep)
    return b.divide(total, b.like(total, count))


@operation("aten.mean.dim")
def mean_dims(c, x, dims=None, keepdim=False, *, dtype=None):
    mean = mean_over(c.b, c.b.convert(x, wide(c.element)), dims_of(dims, x.rank), keepdim)
    return c.b.convert(mean, c.element)


@operation("aten.mean.default")
def mean_all(c, x, *, dtype=None):
    return mean_dims(c, x)


def centered(b, x, dims):
    """The mean of `x` over `dims`, kept, and its distance from it."""
    mean = mean_over(b, x, dims, keep=True)
    return mean, b.subtract(x, b.broadcast(mean, x.shape))


@operation("aten.var.correction")
def var(c, x, dims=None, *, correction=1, keepdim=False):
    b, dims = c.b, dims_of(dims, x.rank)
    _, rest = centered(b, b.convert(x, wide(c.element)), dims)
    total = b.reduce("add", b.multiply(rest, rest), dims, keepdim)
    count = math.prod(x.shape[dim] for dim in dims) - (1 if correction is None else correction)
    return b.convert(b.divide(total, b.like(total, max(count, 0))), c.element)


@operation("aten.var.dim")
def var_dim(c, x, dims, unbiased=True, keepdim=False):
    return var(c, x, dims, correction=int(unbiased), keepdim=keepdim)


@operation("aten.var_mean.correction")
def var_mean(c, x, dims=None, *, correction=1, keepdim=False):
    return [var(c, x, dims, correction=correction, keepdim=keepdim), mean_dims(c, x, dims, keepdim)]


def _root_of_sum(b, total):
    """The square root, with derivative 0 at 0: it is taken where the sum is not 0."""
    is_zero = b.compare("EQ", total, b.like(total, 0))
    return b.select(is_zero, b.like(total, 0), b.unary("sqrt", b.select(is_zero, b.like(total, 1), total)))


@operation("aten.std.correction")
def std(c, x, dims=None, *, correction=1, keepdim=False):
    return _root_of_sum(c.b, var(c, x, dims, correction=correction, keepdim=keepdim))


@operation("aten.std_mean.correction")
def std_mean(c, x, dims=None, *, correction=1, keepdim=False):
    return [std(c, x, dims, correction=correction, keepdim=keepdim), mean_dims(c, x, dims, keepdim)]


@operation("aten.prod.default")
def prod_all(c, x, *, dtype=None):
    return c.b.reduce("multiply", c.b.convert(x, c.element), range(x.rank))


@operation("aten.prod.dim_int")
def prod_dim(c, x, dim, keepdim=False, *, dtype=None):
    return c.b.reduce("multiply", c.b.convert(x, c.element), [dim_of(dim, x.rank)], keepdim)


@operation("aten.linalg_vector_norm.default")
def vector_norm(c, x, order=2, dims=None, keepdim=False, *, dtype=None):
    """The derivative of the norm of zeros is 0."""
    b, dims = c.b, dims_of(dims, x.rank)
    x = b.convert(x, wide(c.element))
    size = b.multiply(x, b.unary("sign", x))
    if order == math.inf or order == -math.inf:
        norm = b.reduce("maximum" if order > 0 else "minimum", size, dims, keepdim)
    elif order == 1:
        norm = b.reduce("add", size, dims, keepdim)
    else:
        refuse(order != 2, f"is of order {order}; orders 1, 2 and infinity have a text")
        norm = _root_of_sum(b, b.reduce("add", b.multiply(x, x), dims, keepdim))
    return b.convert(norm, c.element)


# Extrema: the gradient is shared evenly by equal ones, or goes to the one whose index is returned.


def _extrema(kind):
    def entry(c, x, dims=None, keepdim=False):
        return c.b.reduce(kind, x, dims_of(dims, x.rank), keepdim)

    return entry


def _extremum_of_all(kind):
    def entry(c, x):
        return c.b.reduce(kind, x, range(x.rank))

    return entry


def _extremum_with_index(kind):
    def entry(c, x, dim, keepdim=False):
        if x.rank == 0:
            return [x, c.b.constant(0, (), "i64")]
        dim = dim_of(dim, x.rank)
        kept = x.shape[:dim] + (1,) + x.shape[dim + 1:]
        return [c.b.reshape(value, kept) if keepdim else value for value in c.b.arg_reduce(kind, x, dim)]

    return entry


def _index(kind):
    def entry(c, x, dim=None, keepdim=False):
        if dim is None:
            x, dim = c.b.reshape(x, [math.prod(x.shape)]), 0
        return c.b.reshape(_extremum_with_index(kind)(c, x, dim)[1], c.shape)

    return entry


for _short, _kind in (("max", "maximum"), ("min", "minimum")):
    TABLE[f"aten.a{_short}.default"] = _extrema(_kind)
    TABLE[f"aten.{_short}.default"] = _extremum_of_all(_kind)
    TABLE[f"aten.{_short}.dim"] = _extremum_with_index(_kind)
    TABLE[f"aten.arg{_short}.default"] = _index(_kind)


def _logical(kind):
    def entry(c, x, dims=None, keepdim=False):
        return c.b.convert(c.b.reduce(kind, c.b.convert(x, "i1"), dims_of(dims, x.rank), keepdim), c.element)

    return entry


for _short, _kind in (("any", "or"), ("all", "and")):
    for _overload in ("default", "dim", "dims"):
        TABLE[f"aten.{_short}.{_overload}"] = _logical(_kind)


# Softmax: the maximum is subtracted, and has no influence.


def _shifted(c, x, dim):
    b, x = c.b, c.b.convert(x, wide(c.element))
    dim = dim_of(dim, x.rank)
    if x.rank == 0:
        return dim, b.subtract(x, x)
    return dim, b.subtract(x, b.broadcast(b.reduce("maximum", x, [dim], keep=True), x.shape))


@operation("aten._softmax.default", "aten._safe_softmax.default")
def softmax(c, x, dim, half_to_float=False):
    b, (dim, shifted) = c.b, _shifted(c, x, dim)
    powers = b.unary("exponential", shifted)
    total = b.reduce("add", powers, [dim] if x.rank else [], keep=True)
    result = b.divide(powers, b.broadcast(total, powers.shape))
    if "_safe_" in str(c.node.target):
        masked = b.reduce("and", b.compare("EQ", x, b.like(x, -math.inf)), [dim], keep=True)
        result = b.select(b.broadcast(masked, result.shape), b.like(result, 0), result)
    return b.convert(result, c.element)


@operation("aten._log_softmax.default")
def log_softmax(c, x, dim, half_to_float=False):
    b, (dim, shifted) = c.b, _shifted(c, x, dim)
    total = b.reduce("add", b.unary("exponential", shifted), [dim] if x.rank else [], keep=True)
    return b.convert(b.subtract(shifted, b.broadcast(b.unary("log", total), shifted.shape)), c.element)


# Running sums


def _running(kind):
    def entry(c, x, dim, *, dtype=None):
        x = c.b.convert(x, c.element)
        if x.rank == 0:
            return x
        dim = dim_of(dim, x.rank)
        sizes, low = [1] * x.rank, [0] * x.rank
        sizes[dim], low[dim] = x.shape[dim], x.shape[dim] - 1
        return x if 0 in x.shape else c.b.reduce_window(kind, x, sizes, [1] * x.rank, low, [0] * x.rank)

    return entry


TABLE["aten.cumsum.default"] = _running("add")
TABLE["aten.cumprod.default"] = _running("multiply")


@operation("aten.histc.default")
def histc(c, x, bins=100, min=0, max=0):
    """Counts of bins of equal width; elements outside are not counted."""
    b = c.b
    refuse(min == max, "takes its bounds from the data; give min and max")
    flat = b.reshape(x, [math.prod(x.shape)])
    place = b.unary("floor", b.scale(b.shift(flat, -min), bins / (max - min)))
    # The upper bound belongs to the last bin.
    place = b.select(b.compare("EQ", flat, b.like(flat, max)), b.like(place, bins - 1), place)
    inside = b.binary("and", b.compare("GE", flat, b.like(flat, min)), b.compare("LE", flat, b.like(flat, max)))
    shape = [*flat.shape, bins]
    hits = b.compare("EQ", b.broadcast(place, shape, [0]), b.iota(shape, 1, x.element))
    return b.reduce("add", b.convert(b.binary("and", hits, b.broadcast(inside, shape, [0])), c.element), [0])
