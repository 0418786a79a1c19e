"""The planner alone: addresses for buffers with known lifetimes."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import numpy as np

from . import _library as c
from ._model import PROOFS
from ._watch import ProgressFunction, watched


class Solution(NamedTuple):
    offsets: "np.ndarray[Any, Any]"  # bytes, int64
    arena: int
    lower_bound: int
    proof: str


def _integers(name: str, column: Any) -> Any:
    """A number, or an array of one dimension, as int64; whatever would change on the way is refused."""
    array = np.asarray(column)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu" or (array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max):
        raise c.InvalidArgument(f"{name}: got {array.dtype}, expected integers of at most 64 bits: x.astype(np.int64) converts")
    array = array.astype(np.int64)
    return array.ravel() if array.ndim else np.int64(array)


def plan_memory(lower: Any, upper: Any, size: Any, alignment: Any = 1, offset: Any = -1, inside: Any = -1,
                inside_offset: Any = 0, capacity: int = 0, work_ms: int = 0,
                planner: Optional[str] = None, time_limit: float = 0, progress: Optional[ProgressFunction] = None) -> Solution:
    """Places buffers that live in steps [lower, upper): arrays, or numbers for all. `offset` prescribes where it is not -1;
    `inside` is the index of the buffer that one shares bytes with. DoesNotFit where `capacity` bytes were not reached.
    `time_limit` and `progress` are those of Model.plan."""
    given = {"lower": lower, "upper": upper, "size": size, "alignment": alignment, "offset": offset, "inside": inside,
             "inside_offset": inside_offset}
    arrays = {name: _integers(name, column) for name, column in given.items()}
    lengths = {name: array.size for name, array in arrays.items() if np.ndim(array)}
    if len(set(lengths.values()) - {1}) > 1:
        raise c.InvalidArgument("arrays of one length are expected, and not " +
                                ", ".join(f"{name} of {length}" for name, length in lengths.items()))
    columns = np.broadcast_arrays(*arrays.values())
    count = columns[0].size
    # As ashlar_buffer lies in memory.
    table = np.zeros(count, np.dtype([(name, "i8") for name, *_ in c.Buffer._fields_]))
    table["id"] = np.arange(count)
    for name, column in zip(arrays, columns):
        table[name] = column
    options = c.SolveOptions(work_ms=work_ms, capacity=capacity, planner=None if planner is None else planner.encode(),
                             time_limit=time_limit)
    solution = c.Solution()
    watched(options, lambda: c.call("solve", table.ctypes.data_as(ctypes.POINTER(c.Buffer)), count, ctypes.byref(options),
                                    ctypes.byref(solution)), progress)
    return Solution(table["offset"].copy(), solution.arena, solution.lower_bound, PROOFS[solution.proof])
