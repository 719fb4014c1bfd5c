# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Modules of PyTorch as graphs for the compiler, and trained values back into modules.

    import meshwright.torch
    meshwright.torch.export(model, (ids,), loss=cross_entropy, targets=(labels,), path="gpt")
    # dist-opt gpt.mlir --strategy=gpt.textproto --emit=out/
    # dist-run out/ --init=gpt.safetensors … --save=trained.safetensors
    meshwright.torch.load("trained.safetensors", model)

Needs PyTorch and numpy, and nothing that is compiled here.
"""

from ._error import ExportError
from ._export import Exported, export
from ._load import load
from .aten import TABLE as _TABLE

__all__ = ["ExportError", "Exported", "export", "load", "operations"]


def operations() -> list[str]:
    """The operations that have a text, by name and overload."""
    return sorted(_TABLE)
