# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the operations of ATen are in StableHLO, a module per family.

An entry is a function that prints one operation. Its derivative is that of the operations it prints, so an entry whose
operation PyTorch differentiates by a convention of its own (at a tie, at a kink) chooses operations that have it.
"""

from . import contraction, elementwise, indexing, layout, normalization, order, random, reduction, window  # noqa: F401
from ._table import ABSENT, TABLE, TAKES_ABSENT, Call, Unsupported, type_of_tensor  # noqa: F401
