# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# RUN: %python %s
"""Tests that the comparison with references sees values that are not finite, wherever they stand, and passes equal ones."""
import contextlib
import io
import sys

import numpy

import case

NAN, INF = numpy.nan, numpy.inf


def agree(found, expected, scale=1.0, **more):
    """True if `case.compare` accepts the lists of arrays."""
    name = dict(zip("abc", map(numpy.array, found)))
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            case.compare("test", name, dict(zip("abc", map(numpy.array, expected))), scale, 1e-11, **more)
        except SystemExit:
            return False
    return True


good = [1.0, 2.0]
for bad in ([1.0, NAN], [1.0, INF], [-INF, 2.0], [NAN, NAN], [1.0, 2.1]):
    # First, in the middle, and last, because a later tensor must not hide an earlier one.
    for place in range(3):
        found = [good, good, good]
        found[place] = bad
        assert not agree(found, [good] * 3), (bad, place)
        assert not agree([good] * 3, found), (bad, place)
assert agree([good] * 3, [good] * 3)
assert agree([[1.0, 2.0 + 1e-12]], [good]) and agree([[]], [[]]) and agree([[INF, 1.0]], [[INF, 1.0]])
assert not agree([[INF]], [[-INF]]) and not agree([[INF]], [[NAN]]) and not agree([[NAN]], [[NAN]])
assert agree([[NAN, 1.0]], [[NAN, 1.0]], nan_agrees=True) and not agree([[NAN, 1.0]], [[1.0, NAN]], nan_agrees=True)
# Differences beside equal infinities count, by the size of what is finite.
assert not agree([[INF, 1.1]], [[INF, 1.0]])
# With a scale of 0 and a reference of zeros nothing but zeros agrees.
assert agree([[0.0]], [[0.0]], scale=0.0) and not agree([[1e-3], good], [[0.0], good], scale=0.0)
