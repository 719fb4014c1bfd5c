# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sorting. NaN counts as the largest; of equal elements the first comes first, also where PyTorch's order is not stable."""

from __future__ import annotations

from ._table import dim_of, operation


@operation("aten.sort.default")
def sort(c, x, dim=-1, descending=False):
    if x.rank == 0:
        return [x, c.b.constant(0, (), "i64")]
    return list(c.b.sort(x, dim_of(dim, x.rank), descending))


@operation("aten.sort.stable")
def sort_stable(c, x, *, stable=True, dim=-1, descending=False):
    return sort(c, x, dim, descending)


@operation("aten.argsort.default")
def argsort(c, x, dim=-1, descending=False):
    return sort(c, x, dim, descending)[1]


@operation("aten.topk.default")
def topk(c, x, count, dim=-1, largest=True, sorted=True):
    if x.rank == 0:
        return [x, c.b.constant(0, (), "i64")]
    dim = dim_of(dim, x.rank)
    return [c.b.slice_dim(value, dim, 0, count) for value in c.b.sort(x, dim, largest)]


@operation("aten.kthvalue.default")
def kthvalue(c, x, k, dim=-1, keepdim=False):
    dim = dim_of(dim, x.rank)
    kept = lambda value: c.b.slice_dim(value, dim, k - 1, k)
    return [c.b.reshape(kept(value), c.shape) for value in c.b.sort(x, dim, False)]
