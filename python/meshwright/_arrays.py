# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Arrays of numpy, of DLPack and of the C API."""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, Sequence, Tuple

import numpy as np

from . import _native
from ._errors import InputError

# The names of element types by their numbers in the C API, and the names of numpy's types.
NAMES = ["", "f32", "f64", "bf16", "f16", "i1", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f8E4M3FN", "f8E5M2", "f8E4M3B11FNUZ",
         "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3", "f8E3M4"]
NUMPY = {"f32": "float32", "f64": "float64", "bf16": "bfloat16", "f16": "float16", "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32",
         "i64": "int64", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2",
         "f8E4M3B11FNUZ": "float8_e4m3b11fnuz", "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E5M2FNUZ": "float8_e5m2fnuz", "f8E4M3": "float8_e4m3",
         "f8E3M4": "float8_e3m4"}
NUMBERS = {NUMPY[name]: number for number, name in enumerate(NAMES) if name}


def dtype_of(name: str) -> np.dtype:
    """The type of numpy for an element type; those that numpy has not are of the package ml_dtypes."""
    wanted = NUMPY[name]
    try:
        return np.dtype(wanted)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError:
        raise ImportError(f"numpy has no {name}; the package ml_dtypes, which JAX installs too, brings it") from None
    return np.dtype(getattr(ml_dtypes, wanted))


def to_numpy(value: Any, dtype: str, where: str) -> np.ndarray:
    """An array as numpy has it, without a copy where it lies in rows in the host's memory. Numbers and lists of Python, which have no type
    of their own, get `dtype`."""
    if not isinstance(value, np.ndarray):
        if isinstance(value, (bool, int, float, list, tuple)):
            try:
                value = np.asarray(value, dtype=dtype_of(dtype))
            except (TypeError, ValueError, OverflowError) as error:
                raise InputError(f"{where} cannot be taken as {dtype}: {error}") from None
        else:
            value = _from_dlpack(value)
    value = np.ascontiguousarray(value).reshape(value.shape)
    if value.dtype.byteorder == ">":
        value = value.astype(value.dtype.newbyteorder("="))
    if value.dtype.name not in NUMBERS:
        raise InputError(f"{where} is an array of {value.dtype}, which is no element type; there are {', '.join(NUMBERS)}")
    return value


def _from_dlpack(value: Any) -> np.ndarray:
    if hasattr(value, "__dlpack__"):
        try:
            return np.from_dlpack(value)
        except (TypeError, RuntimeError, BufferError, ValueError):
            pass  # types and devices that numpy does not exchange
    return np.asarray(value)


def to_native(arrays: Mapping[str, np.ndarray]) -> Tuple[ctypes.Array, Any]:
    """The arrays for a call, and what has to live as long as it."""
    made = (_native.Array * len(arrays))()
    keep: List[Any] = [arrays]
    for entry, (name, array) in zip(made, arrays.items()):
        text = _native.string(name)
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        keep += [text, shape]
        entry.name, entry.type, entry.shape, entry.num_dims = text, NUMBERS[array.dtype.name], shape, array.ndim
        entry.data = array.ctypes.data
    return made, keep
