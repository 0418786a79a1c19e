"""Tensors of the caller and of the library, and memory, as the library describes them. Arrays are used
at their own addresses.
"""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _library as c

# numpy has no bfloat16: a uint16 with metadata holds its bits.
_BFLOAT16: "np.dtype[Any]" = np.dtype("uint16", metadata={"bfloat16": True})
# By ashlar_dtype.
DTYPES: Dict[int, "np.dtype[Any]"] = {
    0: np.dtype("float32"), 1: np.dtype("float16"), 2: _BFLOAT16, 3: np.dtype("int64"), 4: np.dtype("int32"),
    5: np.dtype("int8"), 6: np.dtype("uint8"), 8: np.dtype("bool"), 9: np.dtype("float64"), 13: np.dtype("uint16"),
    14: np.dtype("int16"), 15: np.dtype("uint32"), 16: np.dtype("uint64")
}
PROOFS = ("gap", "optimal", "optimal by search")


def is_bfloat16(dtype: "np.dtype[Any]") -> bool:
    """Return whether a tensor's dtype is the uint16 that holds the bits of bfloat16."""
    return bool(dtype.metadata and dtype.metadata.get("bfloat16"))


Array = Any  # numpy array, or object with __dlpack__ (host) or __cuda_array_interface__ (device)


class TensorInfo(NamedTuple):
    """The name, dtype, shape and bytes of an input or output.

    Before a plan, dimensions are -1 if the file leaves them open, and the shape is None if it has none.
    """
    name: str
    dtype: "np.dtype[Any]"
    shape: Tuple[int, ...]
    bytes: int


class Memory(NamedTuple):
    """The memory of a plan, in bytes."""
    arena: int
    arena_alignment: int
    input: int
    output: int
    weights: int
    weights_in_file: int
    lower_bound: int
    proof: str
    bottleneck_step: int
    predicted_ms: float
    weights_shared: int  # part of `weights`: held by plans that this plan shares with
    state: int  # of a training, or kept from run to run
    released_input: int  # part of `arena`: donated inputs before a run
    total: int  # estimate, without the program itself
    total_without_budget: int  # 0: unknown, or no budget


class Measured(NamedTuple):
    """Bytes up to the highest byte that runs wrote.

    `weights` is -1 if a session had packed them before, 0 if the file has them packed; of streamed
    weights it is that byte of the window.
    """
    arena: int
    weights: int
    output: int
    heap_calls: int
    ok: bool


def _text(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


def _encoded(value: Optional[str]) -> Optional[bytes]:
    return None if value is None else value.encode()


class _OnDevice:
    """A tensor in device memory, described by its __cuda_array_interface__."""
    __slots__ = ("source", "dtype", "shape", "address", "contiguous", "writeable")

    def __init__(self, source: Array) -> None:
        says = source.__cuda_array_interface__
        self.source = source  # keeps the memory alive
        self.dtype: "np.dtype[Any]" = np.dtype(says["typestr"])
        self.shape: Tuple[int, ...] = tuple(says["shape"])
        self.address, read_only = says["data"]
        self.writeable = not read_only
        dense, stride = [], self.dtype.itemsize
        for extent in reversed(self.shape):
            dense.append(stride)
            stride *= extent
        self.contiguous = says.get("strides") in (None, tuple(reversed(dense)))


_Tensor = Union["np.ndarray[Any, Any]", _OnDevice]


def _tensor(name: str, array: Array) -> _Tensor:
    if not isinstance(array, np.ndarray) and hasattr(array, "__cuda_array_interface__"):
        return _OnDevice(array)
    return _numpy(name, array)


def _numpy(name: str, array: Array) -> "np.ndarray[Any, Any]":
    if isinstance(array, np.ndarray):
        return array
    if hasattr(array, "__dlpack__"):
        return np.from_dlpack(array)
    if isinstance(array, np.generic):  # one number, with a dtype
        return np.asarray(array)
    raise c.InvalidArgument(f"{name}: {type(array).__name__} is no numpy array and has no __dlpack__")


def _address(array: "np.ndarray[Any, Any]") -> int:
    """Return the address of a contiguous array. ndarray.ctypes takes several times as long."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type,unused-ignore]
    except (TypeError, ValueError):  # read-only or empty array
        return array.ctypes.data


def _by_name(side: str, infos: List[TensorInfo], given: Any) -> Dict[str, Array]:
    if isinstance(given, np.ndarray) and len(infos) == 1:
        return {infos[0].name: given}
    if not isinstance(given, Mapping):
        if len(infos) != 1:
            raise c.InvalidArgument(f"one array for {len(infos)} {side}s: " + ", ".join(i.name for i in infos))
        given = {infos[0].name: given}
    names = [info.name for info in infos]
    for name in given:
        if name not in names:
            raise c.InvalidArgument(f"no {side} '{name}'; the model has: " + ", ".join(names))
    return dict(given)


def mismatch(array: "np.ndarray[Any, Any]", info: TensorInfo) -> str:
    """Return the difference between an array and the expected tensor, with advice to correct it."""
    text = f"got {array.dtype}{list(array.shape)}, expected {info.dtype}{list(info.shape)}"
    if array.shape == info.shape:
        return f"{text}: x.astype('{info.dtype}') converts"
    if len(info.shape) == 4 and array.shape == tuple(info.shape[axis] for axis in (0, 2, 3, 1)):
        return f"{text}: channels are last, np.ascontiguousarray(x.transpose(0, 3, 1, 2)) moves them"
    if len(info.shape) == 4 and array.shape == tuple(info.shape[axis] for axis in (0, 3, 1, 2)):
        return f"{text}: channels are first, np.ascontiguousarray(x.transpose(0, 2, 3, 1)) moves them"
    return text


def padded(array: "np.ndarray[Any, Any]", shape: Tuple[int, ...]) -> "np.ndarray[Any, Any]":
    """Return the array with zeros behind its elements up to `shape`; the array itself if it has that shape."""
    if array.shape == shape:
        return array
    block = np.zeros(shape, array.dtype)
    block[tuple(slice(size) for size in array.shape)] = array
    return block


def as_inputs(infos: List[TensorInfo], given: Any) -> Dict[str, "np.ndarray[Any, Any]"]:
    """Return one array, or arrays by name, as numpy arrays at the same addresses."""
    return {name: _numpy(f"input '{name}'", array) for name, array in _by_name("input", infos, given).items()}


def aligned_block(size: int, alignment: int) -> "np.ndarray[Any, Any]":
    """Return a block of bytes, such as an arena, at a multiple of `alignment`.

    It has at least one byte, because an empty array has no address of its own.
    """
    block = np.empty(size + alignment, np.uint8)
    begin = -block.ctypes.data % alignment
    return block[begin:begin + max(size, 1)]


def _list(name: str, handle: c.Handle, kind: Any) -> List[Any]:
    first, count = ctypes.POINTER(kind)(), ctypes.c_size_t()
    c.call(name, handle.pointer, ctypes.byref(first), ctypes.byref(count))
    return first[:count.value] if count.value else []


def _info(tensor: Any) -> TensorInfo:
    shape: Any = tuple(tensor.shape[:tensor.rank]) if tensor.rank >= 0 else None
    return TensorInfo(_text(tensor.name), DTYPES[tensor.dtype], shape, tensor.bytes)


def _memory(memory: c.Memory) -> Memory:
    return Memory(memory.arena, memory.arena_alignment, memory.input, memory.output, memory.weights, memory.weights_in_file,
                  memory.lower_bound, PROOFS[memory.proof], memory.bottleneck_step, memory.predicted_ms,
                  memory.weights_shared, memory.state, memory.released_input, memory.total, memory.total_without_budget)
