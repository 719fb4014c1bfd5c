# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reading and writing at positions. Negative positions count from the end; PyTorch refuses those outside, so none are clamped."""

from __future__ import annotations

import math

from .._text import Value
from ._table import dim_of, operation, refuse


def _from_front(b, positions: Value, size: int) -> Value:
    """Positions counted from the front."""
    negative = b.compare("LT", positions, b.like(positions, 0))
    return b.select(negative, b.shift(positions, size), positions)


@operation("aten.embedding.default")
def embedding(c, weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Rows of a table. The row of padding has no gradient, so it is read a second time without one."""
    b = c.b
    refuse(scale_grad_by_freq, "scales gradients by the frequency of their rows; scale_grad_by_freq=False has a text")
    positions = b.reshape(indices, [*indices.shape, 1])
    rows = b.gather(weight, positions, c.shape, [indices.rank], [0], [0], [1, weight.shape[1]])
    if padding_idx < 0:
        return rows
    padded = b.compare("EQ", indices, b.like(indices, padding_idx))
    return b.select(b.broadcast(padded, c.shape, range(indices.rank)), b.stop_gradient(rows), rows)


@operation("aten.embedding_dense_backward.default")
def embedding_backward(c, gradient, indices, rows, padding_idx, scale_grad_by_freq):
    b = c.b
    refuse(scale_grad_by_freq, "scales gradients by the frequency of their rows; scale_grad_by_freq=False has a text")
    if padding_idx >= 0:
        padded = b.compare("EQ", indices, b.like(indices, padding_idx))
        gradient = b.select(b.broadcast(padded, gradient.shape, range(indices.rank)), b.like(gradient, 0), gradient)
    table = b.constant(0, c.shape, gradient.element)
    return b.scatter("add", table, b.reshape(indices, [*indices.shape, 1]), gradient, [indices.rank], [0], [0])


@operation("aten.index_select.default")
def index_select(c, x, dim, index):
    b, dim = c.b, dim_of(dim, x.rank)
    sizes = [1 if at == dim else size for at, size in enumerate(x.shape)]
    offset = [at for at in range(x.rank) if at != dim]
    return b.gather(x, b.reshape(index, [*index.shape, 1]), c.shape, offset, [dim], [dim], sizes)


@operation("aten.gather.default")
def gather(c, x, dim, index, *, sparse_grad=False):
    b, dim = c.b, dim_of(dim, x.rank)
    if x.rank == 0:
        return b.reshape(x, c.shape)
    # Positions may be of a smaller part of the other dimensions.
    x = b.slice(x, [0] * x.rank, [size if at == dim else index.shape[at] for at, size in enumerate(x.shape)])
    others = [at for at in range(x.rank) if at != dim]
    return b.gather(x, b.reshape(index, [*index.shape, 1]), c.shape, [], [dim], [dim], [1] * x.rank, (others, others))


def _positions(c, x, indices):
    """The indexed dimensions, the positions in them as one tensor of vectors, their shape, and where they stand in the result."""
    b = c.b
    indices = list(indices) + [None] * (x.rank - len(indices))
    dims = [dim for dim, index in enumerate(indices) if index is not None]
    given = [indices[dim] for dim in dims]
    refuse(any(index.element == "i1" for index in given), "selects by a mask, so that the shape of the result depends on the data; use torch.where")
    rank = max(index.rank for index in given)
    shape = [max(index.shape[at - rank] if rank - at <= index.rank else 1 for index in given) for at in range(rank)]
    if any(0 in index.shape for index in given):
        shape = [0 if any(rank - at <= index.rank and index.shape[at - rank] == 0 for index in given) else size for at, size in enumerate(shape)]
    vectors = [b.reshape(b.broadcast(_from_front(b, b.convert(index, "i64"), x.shape[dim]), shape), [*shape, 1]) for dim, index in zip(dims, given)]
    adjacent = dims == list(range(dims[0], dims[0] + len(dims)))
    return dims, b.concatenate(vectors, rank), shape, dims[0] if adjacent else 0


@operation("aten.index.Tensor", "aten._unsafe_index.Tensor")
def index_tensor(c, x, indices):
    dims, positions, shape, place = _positions(c, x, indices)
    sizes = [1 if dim in dims else size for dim, size in enumerate(x.shape)]
    rank = len(shape) + x.rank - len(dims)
    offset = [at for at in range(rank) if not place <= at < place + len(shape)]
    return c.b.gather(x, positions, c.shape, offset, dims, dims, sizes)


@operation("aten.index_put.default", "aten._unsafe_index_put.default")
def index_put(c, x, indices, values, accumulate=False):
    b = c.b
    if len(indices) == 1 and indices[0] is not None and indices[0].element == "i1":
        refuse(math.prod(values.shape) != 1, "puts several values where a mask is true, whose number depends on the data; use torch.where")
        mask = b.broadcast(indices[0], x.shape, range(indices[0].rank))
        value = b.broadcast(b.reshape(b.convert(values, x.element), ()), x.shape)
        return b.select(mask, b.add(x, value) if accumulate else value, x)
    dims, positions, shape, place = _positions(c, x, indices)
    rest = [size for dim, size in enumerate(x.shape) if dim not in dims]
    updates = rest[:place] + shape + rest[place:]
    windows = [at for at in range(len(updates)) if not place <= at < place + len(shape)]
    values = b.broadcast(b.convert(values, x.element), updates)
    return b.scatter("add" if accumulate else None, x, positions, values, windows, dims, dims)


def _scatter(c, kind, x, dim, index, source):
    """Puts elements along a dimension; positions may be of a smaller part of the other dimensions."""
    b, dim = c.b, dim_of(dim, x.rank)
    if x.rank == 0:
        return scatter_of_vectors(c, kind, x, index, source)
    source = b.slice(source, [0] * x.rank, index.shape) if source.shape != index.shape else source
    others = [at for at in range(x.rank) if at != dim]
    if all(x.shape[at] == index.shape[at] for at in others):
        return b.scatter(kind, x, b.reshape(index, [*index.shape, 1]), source, [], [dim], [dim], (others, others))
    vectors = [b.reshape(index if at == dim else b.iota(index.shape, at, index.element), [*index.shape, 1]) for at in range(x.rank)]
    every = list(range(x.rank))
    return b.scatter(kind, x, b.concatenate(vectors, x.rank), source, [], every, every)


def scatter_of_vectors(c, kind, x, index, source):
    """The same for a scalar, which counts as a vector of one element."""
    vector = lambda value: c.b.reshape(value, [1])
    return c.b.reshape(_scatter(c, kind, vector(x), 0, vector(index), vector(source)), ())


@operation("aten.scatter.src")
def scatter(c, x, dim, index, source):
    return _scatter(c, None, x, dim, index, c.b.convert(source, x.element))


@operation("aten.scatter.value")
def scatter_value(c, x, dim, index, value):
    return _scatter(c, None, x, dim, index, c.value(value, index.shape, x.element))


@operation("aten.scatter_add.default")
def scatter_add(c, x, dim, index, source):
    return _scatter(c, "add", x, dim, index, source)


@operation("aten.scatter_reduce.two")
def scatter_reduce(c, x, dim, index, source, reduce, *, include_self=True):
    kinds = {"sum": "add", "amax": "maximum", "amin": "minimum"}
    refuse(reduce not in kinds or not include_self, f"reduces by {reduce}{'' if include_self else ' without the elements themselves'}; "
           "sum, amax and amin with include_self=True have a text")
    return _scatter(c, kinds[reduce], x, dim, index, source)


@operation("aten.index_add.default")
def index_add(c, x, dim, index, source, *, alpha=1):
    b, dim = c.b, dim_of(dim, x.rank)
    windows = [at for at in range(x.rank) if at != dim]
    return b.scatter("add", x, b.reshape(index, [*index.shape, 1]), b.scale(source, alpha), windows, [dim], [dim])


@operation("aten.tril.default", "aten.triu.default")
def triangle(c, x, diagonal=0):
    b, lower = c.b, "tril" in str(c.node.target)
    distance = b.subtract(b.iota(x.shape, x.rank - 1, "i64"), b.iota(x.shape, x.rank - 2, "i64"))
    return b.select(b.compare("LE" if lower else "GE", distance, b.like(distance, diagonal)), x, b.like(x, 0))


@operation("aten.one_hot.default")
def one_hot(c, x, classes=-1):
    b = c.b
    refuse(classes < 0, "takes the number of classes from the data; give num_classes")
    return b.convert(b.compare("EQ", b.broadcast(x, c.shape, range(x.rank)), b.iota(c.shape, x.rank, x.element)), c.element)
