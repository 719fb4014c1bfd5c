# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pooling and interpolation."""

from __future__ import annotations

import math

from ._table import ABSENT, TAKES_ABSENT, operation, refuse


def _spread(values, spatial: int, default):
    values = [values] if isinstance(values, int) else list(values or [])
    return values * spatial if len(values) == 1 else values or default


def _windows(x, kernel, stride, padding, dilation, ceil_mode, spatial):
    """Lists for all dimensions, those before the last `spatial` being of size 1."""
    kernel = _spread(kernel, spatial, None)
    stride, padding, dilation = _spread(stride, spatial, kernel), _spread(padding, spatial, [0] * spatial), _spread(dilation, spatial, [1] * spatial)
    high = list(padding)
    for at, size in enumerate(x.shape[x.rank - spatial:] if ceil_mode else []):
        # Windows that begin in the image, or in what is padded before it, count although they end outside.
        reach = dilation[at] * (kernel[at] - 1) + 1
        count = -(-(size + 2 * padding[at] - reach) // stride[at]) + 1
        if (count - 1) * stride[at] >= size + padding[at]:
            count -= 1
        high[at] = max(0, (count - 1) * stride[at] + reach - size - padding[at])
    front = x.rank - spatial
    return [[fill] * front + values for fill, values in ((1, kernel), (1, stride), (0, padding), (0, high), (1, dilation))]


@operation("aten.max_pool2d_with_indices.default", "aten.max_pool3d_with_indices.default")
def max_pool(c, x, kernel, stride=(), padding=0, dilation=1, ceil_mode=False):
    """The largest of each window, the first of equal ones. Its index is not printed."""
    lists = _windows(x, kernel, stride, padding, dilation, ceil_mode, len(kernel))
    return [c.b.reduce_window("maximum", x, *lists), ABSENT]


TAKES_ABSENT.add("aten.max_pool2d_with_indices_backward.default")


@operation("aten.max_pool2d_with_indices_backward.default")
def max_pool_backward(c, gradient, x, kernel, stride, padding, dilation, ceil_mode, indices):
    """The gradient goes to the largest of each window; the indices, which say the same, are not read."""
    sizes, strides, low, high, dilations = _windows(x, kernel, stride, padding, dilation, ceil_mode, len(kernel))
    refuse(any(each != 1 for each in dilations), "is of dilated windows")
    return c.b.select_and_scatter(x, gradient, sizes, strides, low, high)


def _average(c, x, kernel, stride=(), padding=0, ceil_mode=False, count_include_pad=True, divisor=None):
    b = c.b
    lists = _windows(x, kernel, stride, padding, 1, ceil_mode, len(kernel))
    total = b.reduce_window("add", x, *lists)
    if divisor is not None:
        return b.scale(total, 1 / divisor)
    if not ceil_mode and (count_include_pad or not any(lists[2])):
        return b.divide(total, b.like(total, math.prod(kernel)))
    # Counts depend on the place alone; padding counts where it is asked for, but not what a last window lacks.
    sizes, strides, low, high, _ = lists
    ones, more = b.constant(1, x.shape, x.element), [0] * x.rank
    if count_include_pad:
        own = _windows(x, kernel, stride, padding, 1, False, len(kernel))[2]
        ones, low, more = b.pad(ones, 1, own, own), [0] * x.rank, own
    counts = b.reduce_window("add", ones, sizes, strides, low, [a - o for a, o in zip(high, more)])
    return b.divide(total, counts)


@operation("aten.avg_pool1d.default", "aten.avg_pool2d.default", "aten.avg_pool3d.default")
def avg_pool(c, x, *arguments):
    return _average(c, x, *arguments)


@operation("aten._adaptive_avg_pool2d.default", "aten._adaptive_avg_pool3d.default", "aten.adaptive_avg_pool1d.default")
def adaptive_avg_pool(c, x, sizes):
    given = x.shape[x.rank - len(sizes):]
    uneven = [(a, b) for a, b in zip(given, sizes) if a % b]
    refuse(uneven, f"pools {'x'.join(map(str, given))} into {'x'.join(map(str, sizes))}, in windows of different sizes; sizes that divide have a text")
    kernel = [a // b for a, b in zip(given, sizes)]
    return _average(c, x, kernel, kernel)


@operation("aten.upsample_nearest2d.vec", "aten.upsample_nearest2d.default")
def upsample_nearest(c, x, *_):
    b, shape = c.b, c.shape
    refuse(any(new % old for new, old in zip(shape[2:], x.shape[2:])), "scales by a factor that is not whole")
    pairs = [x.shape[0], x.shape[1], x.shape[2], shape[2] // x.shape[2], x.shape[3], shape[3] // x.shape[3]]
    return b.reshape(b.broadcast(x, pairs, [0, 1, 2, 4]), shape)
