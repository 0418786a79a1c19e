"""External data of ONNX models in memory: the library reads the arrays in place, and releases each
once nothing reads it any more.
"""
from __future__ import annotations

import ctypes
import itertools
from typing import Any, Dict, Mapping, Optional

import numpy as np

from . import _library as c

_held: Dict[int, Any] = {}
_keys = itertools.count(1)


def _forget(key: int, held: Dict[int, Any] = _held) -> None:
    held.pop(key, None)


_release = c.RELEASE(_forget)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(_release))  # so that it outlives the interpreter


def as_files(files: Optional[Mapping[str, Any]]) -> Any:
    """Return arrays by name as an array of the library's files, which now hold them."""
    listed = (c.File * len(files or {}))()
    for file, (name, array) in zip(listed, (files or {}).items()):
        data = np.asarray(array)
        if not data.flags.c_contiguous:
            raise c.InvalidArgument(f"file '{name}': got strides {data.strides}, expected a contiguous array")
        key = next(_keys)
        _held[key] = data
        file.name, file.bytes, file.bytes_size, file.release, file.context = name.encode(), data.ctypes.data, data.nbytes, _release, key
    return listed
