# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How good gradients are that were computed in few bits."""
import numpy


def measure_gradients(found, exact):
    """How far all tensors `grad/…` of `found` together are from the exact ones, relative to these."""
    names = [name for name in exact if name.startswith("grad/")]
    squares = lambda tensors: sum(numpy.sum(tensor.astype("f8")**2) for tensor in tensors)
    return (squares(found[name] - exact[name] for name in names) / squares(exact[name] for name in names))**0.5
