# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files of safetensors as arrays of numpy."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Mapping, Optional

import numpy as np

from ._arrays import NUMPY, dtype_of, to_numpy
from ._errors import InputError

# The types by the names that the format has for them.
TYPES = {"F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "BOOL": "i1", "I8": "i8", "I16": "i16", "I32": "i32", "I64": "i64", "U8": "u8",
         "U16": "u16", "U32": "u32", "U64": "u64", "F8_E4M3": "f8E4M3FN", "F8_E5M2": "f8E5M2", "F8_E4M3FNUZ": "f8E4M3FNUZ",
         "F8_E5M2FNUZ": "f8E5M2FNUZ"}
_NAMES = {NUMPY[dtype]: name for name, dtype in TYPES.items()}


def load(path: "str | os.PathLike") -> Dict[str, np.ndarray]:
    """The tensors of a file by name. They are read-only and read from the file as they are used."""
    try:
        size = os.path.getsize(path)
        data = np.memmap(path, np.uint8, "r") if size else np.empty(0, np.uint8)
    except OSError as error:
        raise InputError(f"cannot read {os.fspath(path)}: {error.strerror}") from None
    try:
        length = int.from_bytes(data[:8].tobytes(), "little")
        if size < 8 or length > size - 8:
            raise ValueError(f"a header of {length} bytes is longer than the file")
        header, body = json.loads(data[8 : 8 + length].tobytes()), data[8 + length :]
        return {name: _view(body, entry) for name, entry in header.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{os.fspath(path)} is no file of safetensors: {error}") from None


def _view(body: np.ndarray, entry: Mapping[str, Any]) -> np.ndarray:
    begin, end = entry["data_offsets"]
    dtype = dtype_of(TYPES[entry["dtype"]])
    if not 0 <= begin <= end <= body.size:
        raise ValueError(f"a tensor at bytes {begin} to {end} is not in the file")
    return np.frombuffer(body[begin:end].tobytes() if begin % dtype.itemsize else body[begin:end], dtype).reshape(entry["shape"])


def save(path: "str | os.PathLike", tensors: Mapping[str, Any], metadata: Optional[Mapping[str, str]] = None) -> None:
    """Writes arrays to a file by name, in their order."""
    arrays = {name: to_numpy(value, "f32", f'tensor "{name}"') for name, value in tensors.items()}
    header: Dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    offset = 0
    for name, array in arrays.items():
        if array.dtype.name not in _NAMES:
            raise InputError(f'tensor "{name}" is an array of {array.dtype}, which safetensors has not')
        header[name] = {"dtype": _NAMES[array.dtype.name], "shape": list(array.shape), "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    temporary = f"{os.fspath(path)}.partial"
    with open(temporary, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(array.tobytes())
    os.replace(temporary, path)
