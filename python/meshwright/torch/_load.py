# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trained values back into a module."""

from __future__ import annotations

import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Mapping

import torch

from . import _tensors


def load(source, module: torch.nn.Module) -> torch.nn.Module:
    """Writes values into a module's parameters and buffers, in place, by their names; tied weights are one tensor. Returns the module.

    `source` is a safetensors file (`dist-run --save`, `dist-ckpt export`), a folder of checkpoints (`dist-run --checkpoint`, read by `dist-ckpt`),
    values by name, or an object that has them as `variables`, such as a session. Other values in it, those of an optimizer for instance,
    are left out. Nothing is written unless all parameters are there, in the module's shapes.
    """
    values = _read(source)
    parameters = dict(module.named_parameters())
    tied = {}
    for name, tensor in module.named_parameters(remove_duplicate=False):
        tied.setdefault(id(tensor), []).append(name)
    chosen = {}
    for name, tensor in [*parameters.items(), *module.named_buffers()]:
        known = next((each for each in tied.get(id(tensor), [name]) if each in values), None)
        if known is None and name in parameters:
            raise KeyError(f"{_describe(source)} has no value of {name}, and {len(values)} others" + (f"; the first is {next(iter(values))}" if values else ""))
        if known is None:
            continue
        value = _tensors.to_tensor(values[known])
        # A tensor of one element may have been saved as a scalar.
        if value.shape != tensor.shape and not (value.numel() == tensor.numel() == 1):
            raise ValueError(f"{known} has shape {list(value.shape)} in {_describe(source)}, and {list(tensor.shape)} in the module")
        chosen[name] = tensor, value.reshape(tensor.shape)
    with torch.no_grad():
        for tensor, value in chosen.values():
            tensor.copy_(value)
    return module


def _describe(source) -> str:
    return str(source) if isinstance(source, (str, pathlib.Path)) else f"the {type(source).__name__}"


def _read(source) -> Mapping:
    if isinstance(source, Mapping):
        return source
    if hasattr(source, "variables"):
        return source.variables() if callable(source.variables) else source.variables
    path = pathlib.Path(source)
    return _read_checkpoint(path) if path.is_dir() else _tensors.load(path)


def _read_checkpoint(folder: pathlib.Path) -> Mapping:
    tool = shutil.which("dist-ckpt")
    if tool is None:
        raise FileNotFoundError(f"{folder} is a folder of checkpoints, and dist-ckpt, which reads them, is not in PATH; export them to a safetensors file with it")
    with tempfile.TemporaryDirectory() as temporary:
        file = pathlib.Path(temporary) / "values.safetensors"
        done = subprocess.run([tool, "export", str(folder), str(file)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode != 0:
            raise ValueError(f"dist-ckpt cannot export {folder}: {done.stdout.strip()}")
        return _tensors.load(file)
