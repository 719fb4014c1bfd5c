# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Products of matrices and convolutions."""

from __future__ import annotations

from ._table import operation, refuse


@operation("aten.mm.default")
def mm(c, x, y):
    return c.b.dot(x, y, ([1], [0]))


@operation("aten.bmm.default")
def bmm(c, x, y):
    return c.b.dot(x, y, ([2], [1]), ([0], [0]))


@operation("aten.mv.default", "aten.dot.default")
def mv(c, x, y):
    return c.b.dot(x, y, ([x.rank - 1], [0]))


def _plus(c, bias, product, beta, alpha):
    b = c.b
    product = b.scale(product, alpha)
    return product if beta == 0 else b.add(product, b.scale(b.broadcast(bias, product.shape), beta))


@operation("aten.addmm.default")
def addmm(c, bias, x, y, *, beta=1, alpha=1):
    return _plus(c, bias, mm(c, x, y), beta, alpha)


@operation("aten.baddbmm.default")
def baddbmm(c, bias, x, y, *, beta=1, alpha=1):
    return _plus(c, bias, bmm(c, x, y), beta, alpha)


@operation("aten.linear.default")
def linear(c, x, weight, bias=None):
    product = c.b.dot(x, weight, ([x.rank - 1], [1]))
    return product if bias is None else c.b.add(product, c.b.broadcast(bias, product.shape))


def _joined_groups(b, weight, groups: int):
    """Weights [in, out / groups, …] of a transposed convolution as [in / groups, out, …], which a grouped one reads."""
    if groups == 1:
        return weight
    inputs, outputs, *sizes = weight.shape
    parted = b.reshape(weight, [groups, inputs // groups, outputs, *sizes])
    order = [1, 0, *range(2, parted.rank)]
    return b.reshape(b.transpose(parted, order), [inputs // groups, groups * outputs, *sizes])


@operation("aten.convolution.default")
def convolution(c, x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    b, spatial = c.b, weight.rank - 2
    stride, padding, dilation, output_padding = (list(values) * (spatial if len(values) == 1 else 1) for values in (stride, padding, dilation, output_padding))
    one = [1] * spatial
    if transposed:
        # The gradient of a convolution: the images are spread by the strides, and the kernel is reversed.
        reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
        low = [r - p for r, p in zip(reach, padding)]
        high = [r - p + o for r, p, o in zip(reach, padding, output_padding)]
        result = b.convolution(x, _joined_groups(b, weight, groups), c.shape, one, low, high, stride, dilation, groups, names=("bf", "io", "bf"), reverse=True)
    else:
        result = b.convolution(x, weight, c.shape, stride, padding, padding, one, dilation, groups)
    return result if bias is None else b.add(result, b.broadcast(bias, c.shape, [1]))


@operation("aten.convolution_backward.default")
def convolution_backward(c, gradient, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, wanted):
    """Gradients of the images, the weights and the bias, those that are wanted."""
    b, spatial = c.b, weight.rank - 2
    refuse(transposed, "is of a transposed convolution")
    stride, padding, dilation = (list(values) * (spatial if len(values) == 1 else 1) for values in (stride, padding, dilation))
    one, sizes = [1] * spatial, [1 + s * (g - 1) for s, g in zip(stride, gradient.shape[2:])]
    reach = [d * (k - 1) for d, k in zip(dilation, weight.shape[2:])]
    results = [None, None, None]
    if wanted[0]:
        low = [r - p for r, p in zip(reach, padding)]
        high = [size - spread - a + r for size, spread, a, r in zip(x.shape[2:], sizes, low, reach)]
        results[0] = b.convolution(gradient, _joined_groups(b, weight, groups), x.shape, one, low, high, stride, dilation, groups, names=("bf", "io", "bf"), reverse=True)
    if wanted[1]:
        high = [r + spread - size - p for r, spread, size, p in zip(reach, sizes, x.shape[2:], padding)]
        results[1] = b.convolution(x, gradient, weight.shape, dilation, padding, high, one, stride, names=("fb", "io", "fb"), batch_groups=groups)
    if wanted[2]:
        results[2] = b.reduce("add", gradient, [dim for dim in range(gradient.rank) if dim != 1])
    return results


@operation("transformers.grouped_mm_fallback.default", "aten._grouped_mm.default")
def grouped_mm(c, x, weight, offsets=None, bias=None, out_dtype=None):
    """Rows that are sorted by groups times the matrix of their group: every matrix reads the rows of its group, and zeros for the others.

    Shapes are static, and a group may have any number of rows, so this takes as many products of all rows as there are groups.
    """
    refuse(x.rank != 2 or weight.rank != 3 or offsets is None or bias is not None, "multiplies other things than sorted rows with a matrix of each group")
    return c.b.reduce("add", c.b.dot(_rows_of_groups(c.b, x, offsets), weight, ([2], [1]), ([0], [0])), [0])


def _rows_of_groups(b, x, offsets):
    """Every group's rows of `x`, and zeros in place of the others; groups end at `offsets`."""
    groups, shape = offsets.shape[0], [offsets.shape[0], x.shape[0]]
    row = b.iota(shape, 1, offsets.element)
    end = b.broadcast(offsets, shape, [0])
    start = b.broadcast(b.concatenate([b.constant(0, (1,), offsets.element), b.slice_dim(offsets, 0, 0, groups - 1)], 0), shape, [0])
    mine = b.binary("and", b.compare("GE", row, start), b.compare("LT", row, end))
    whole = [groups, *x.shape]
    return b.select(b.broadcast(mine, whole, [0, 1]), b.broadcast(x, whole, [1, 2]), b.constant(0, whole, x.element))


@operation("transformers.grouped_mm_fallback_backward.default")
def grouped_mm_backward(c, x, weight, offsets, gradient):
    """The gradients of the rows and of the matrices."""
    b, parts = c.b, _rows_of_groups(c.b, gradient, offsets)
    rows = b.reduce("add", b.dot(parts, weight, ([2], [2]), ([0], [0])), [0])
    return [rows, b.transpose(b.dot(parts, x, ([1], [0])), [0, 2, 1])]
