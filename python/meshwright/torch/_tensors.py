# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's tensors in files of safetensors, whose reader and writer take arrays of numpy."""

from __future__ import annotations

import numpy as np
import torch

from .. import safetensors
from .._arrays import dtype_of


def save(path, tensors: dict[str, torch.Tensor]) -> None:
    """Writes tensors by name, in the order of their names."""
    safetensors.save(path, {name: to_array(tensor) for name, tensor in sorted(tensors.items())})


def load(path) -> dict[str, torch.Tensor]:
    """The tensors of a file by name."""
    return {name: to_tensor(array) for name, array in safetensors.load(path).items()}


def to_array(tensor: torch.Tensor) -> np.ndarray:
    tensor = tensor.detach().cpu().contiguous()
    # numpy has no bf16 of its own, and PyTorch does not know the one that is added to it.
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.uint16).numpy().view(dtype_of("bf16"))
    return tensor.numpy()


def to_tensor(value) -> torch.Tensor:
    """A tensor of what a mapping of values may hold."""
    if not isinstance(value, np.ndarray):
        return torch.as_tensor(value)
    if value.dtype.name == "bfloat16":
        return torch.from_numpy(value.view(np.uint16).copy()).view(torch.bfloat16)
    return torch.from_numpy(value.copy())
