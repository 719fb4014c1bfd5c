# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Shapes: views, permutations, slices, padding, joining."""

from __future__ import annotations

import math

from ._table import dim_of, operation, refuse


@operation("aten.view.default", "aten._unsafe_view.default", "aten.reshape.default", "aten.unsqueeze.default", "aten.squeeze.default", "aten.squeeze.dim",
           "aten.squeeze.dims", "aten._reshape_copy.default")
def view(c, x, *_):
    return c.b.reshape(x, c.shape)


@operation("aten.view.dtype")
def view_dtype(c, x, _):
    return c.b.bitcast(x, c.shape, c.element)


@operation("aten.expand.default")
def expand(c, x, *_, **__):
    return c.b.broadcast(x, c.shape)


@operation("aten.permute.default")
def permute(c, x, dims):
    return c.b.transpose(x, [dim_of(dim, x.rank) for dim in dims])


@operation("aten.t.default")
def t(c, x):
    return c.b.transpose(x, reversed(range(x.rank)))


@operation("aten.transpose.int")
def transpose(c, x, first, second):
    dims = list(range(x.rank))
    first, second = dim_of(first, x.rank), dim_of(second, x.rank)
    dims[first], dims[second] = dims[second], dims[first]
    return c.b.transpose(x, dims)


@operation("aten.flip.default")
def flip(c, x, dims):
    return c.b.reverse(x, sorted(dim_of(dim, x.rank) for dim in dims))


def _bound(index, size, default):
    """A bound of a slice within the dimension."""
    index = default if index is None else index
    return min(max(index + size if index < 0 else index, 0), size)


@operation("aten.slice.Tensor")
def slice_dim(c, x, dim=0, start=None, end=None, step=1):
    dim = dim_of(dim, x.rank)
    size = x.shape[dim]
    return c.b.slice_dim(x, dim, _bound(start, size, 0), _bound(end, size, size), step)


@operation("aten.select.int")
def select(c, x, dim, index):
    dim = dim_of(dim, x.rank)
    index = index % x.shape[dim]
    return c.b.reshape(c.b.slice_dim(x, dim, index, index + 1), c.shape)


@operation("aten.split_with_sizes.default")
def split_with_sizes(c, x, sizes, dim=0):
    dim, start, parts = dim_of(dim, x.rank), 0, []
    for size in sizes:
        parts.append(c.b.slice_dim(x, dim, start, start + size))
        start += size
    return parts


@operation("aten.split.Tensor")
def split(c, x, size, dim=0):
    whole = x.shape[dim_of(dim, x.rank)]
    return split_with_sizes(c, x, [min(size, whole - start) for start in range(0, whole, size)], dim)


@operation("aten.unbind.int")
def unbind(c, x, dim=0):
    dim = dim_of(dim, x.rank)
    return [c.b.reshape(c.b.slice_dim(x, dim, index, index + 1), x.shape[:dim] + x.shape[dim + 1:]) for index in range(x.shape[dim])]


@operation("aten.cat.default")
def cat(c, values, dim=0):
    # A vector of no elements may be joined with anything.
    values = [c.b.convert(value, c.element) for value in values if value.shape != (0,) or len(c.shape) == 1]
    return c.b.concatenate(values, dim_of(dim, len(c.shape)))


@operation("aten.stack.default")
def stack(c, values, dim=0):
    dim = dim_of(dim, len(c.shape))
    parts = [c.b.reshape(c.b.convert(value, c.element), value.shape[:dim] + (1,) + value.shape[dim:]) for value in values]
    return c.b.concatenate(parts, dim)


@operation("aten.repeat.default")
def repeat(c, x, repeats):
    b = c.b
    sizes = [1] * (len(repeats) - x.rank) + list(x.shape)
    pairs = [size for pair in zip(repeats, sizes) for size in pair]
    dims = [2 * dim + 1 for dim in range(len(repeats) - x.rank, len(repeats))]
    return b.reshape(b.broadcast(x, pairs, dims), c.shape)


@operation("aten.constant_pad_nd.default")
def constant_pad(c, x, pad, value=0):
    low, high = [0] * x.rank, [0] * x.rank
    for index in range(len(pad) // 2):
        low[-1 - index], high[-1 - index] = pad[2 * index], pad[2 * index + 1]
    return c.b.pad(x, value, low, high)


@operation("aten.slice_scatter.default")
def slice_scatter(c, x, source, dim=0, start=None, end=None, step=1):
    b, dim = c.b, dim_of(dim, x.rank)
    size = x.shape[dim]
    start, end = _bound(start, size, 0), _bound(end, size, size)
    count = source.shape[dim]
    if count == 0:
        return x
    low, high, interior = [0] * x.rank, [0] * x.rank, [0] * x.rank
    low[dim], interior[dim] = start, step - 1
    high[dim] = size - start - (count + (count - 1) * (step - 1))
    if step == 1:
        parts = [b.slice_dim(x, dim, 0, start), b.convert(source, x.element), b.slice_dim(x, dim, end, size)]
        return b.concatenate([part for part in parts if part.shape[dim]], dim)
    inside = b.pad(b.constant(True, source.shape, "i1"), False, low, high, interior)
    return b.select(inside, b.pad(b.convert(source, x.element), 0, low, high, interior), x)


@operation("aten.select_scatter.default")
def select_scatter(c, x, source, dim, index):
    dim = dim_of(dim, x.rank)
    index = index % x.shape[dim]
    return slice_scatter(c, x, c.b.reshape(source, x.shape[:dim] + (1,) + x.shape[dim + 1:]), dim, index, index + 1)


@operation("aten.diagonal.default")
def diagonal(c, x, offset=0, dim1=0, dim2=1):
    """The elements where the indices of two dimensions differ by the offset: a sum of one of each row."""
    b, dim1, dim2 = c.b, dim_of(dim1, x.rank), dim_of(dim2, x.rank)
    count = c.shape[-1]
    row, column = max(0, -offset), max(0, offset)
    part = b.slice_dim(b.slice_dim(x, dim1, row, row + count), dim2, column, column + count)
    order = [dim for dim in range(x.rank) if dim not in (dim1, dim2)] + [dim1, dim2]
    part = b.transpose(part, order)
    rank = part.rank
    same = b.compare("EQ", b.iota(part.shape, rank - 2, "i32"), b.iota(part.shape, rank - 1, "i32"))
    return b.reduce("add", b.select(same, part, b.like(part, 0)), [rank - 1])


def _strides_of(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.insert(0, step)
        step *= size
    return strides


@operation("aten.as_strided.default")
def as_strided(c, x, size, stride, offset=0):
    dense = list(stride) == _strides_of(size) and offset in (0, None) and math.prod(size) == math.prod(x.shape)
    refuse(not dense, f"has strides {list(stride)}, which are not those of a reshape; use views of whole dimensions")
    return c.b.reshape(x, size)
