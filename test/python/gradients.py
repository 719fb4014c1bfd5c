# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The accuracy of gradients computed in low precision."""
import numpy


def measure_gradients(found, exact):
    """The distance of all tensors `grad/…` of `found` together from the exact ones, relative to the norm of these."""
    names = [name for name in exact if name.startswith("grad/")]
    squares = lambda tensors: sum(numpy.sum(tensor.astype("f8")**2) for tensor in tensors)
    return (squares(found[name] - exact[name] for name in names) / squares(exact[name] for name in names))**0.5
