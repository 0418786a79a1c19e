"""The planner alone: computes addresses of buffers with known lifetimes."""
from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional

import numpy as np

from . import _library as c
from ._tensors import PROOFS
from ._watch import ProgressFunction, watched


class Solution(NamedTuple):
    """The offsets of the buffers, the arena and its lower bound in bytes, and the proof."""
    offsets: "np.ndarray[Any, Any]"  # bytes, int64
    arena: int
    lower_bound: int
    proof: str


def _integers(name: str, column: Any) -> Any:
    """Convert a number, or an array of one dimension, to int64; refuse values that would change."""
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
    """Place buffers with given lifetimes in one arena.

    Each column is an array with one entry per buffer, or a number for all buffers.

    Parameters
    ----------
    lower, upper : int or array of int
        The buffer is live in steps [lower, upper).
    size : int or array of int
        Bytes.
    alignment : int or array of int, default 1
    offset : int or array of int, default -1
        Prescribed offsets in bytes; -1 leaves the choice to the planner.
    inside : int or array of int, default -1
        Index of the buffer that this buffer shares bytes with, or -1.
    inside_offset : int or array of int, default 0
        Offset in that buffer, in bytes.
    capacity : int, default 0
        The first plan of at most so many bytes is accepted; 0 minimizes the arena.
    work_ms : int, default 0
        Limit on counted work, in milliseconds of a fast core; 0 is 250.
    planner : str, optional
        The name of a planner, in the format of the command's --planner; by default "auto".
    time_limit, progress
        See `Model.plan`.

    Returns
    -------
    Solution
        The offsets, the arena, its lower bound in bytes, and the proof.

    Raises
    ------
    DoesNotFit
        If no plan of at most `capacity` bytes was found.
    """
    given = {"lower": lower, "upper": upper, "size": size, "alignment": alignment, "offset": offset, "inside": inside,
             "inside_offset": inside_offset}
    arrays = {name: _integers(name, column) for name, column in given.items()}
    lengths = {name: array.size for name, array in arrays.items() if np.ndim(array)}
    if len(set(lengths.values()) - {1}) > 1:
        raise c.InvalidArgument("arrays of one length are expected, and not " +
                                ", ".join(f"{name} of {length}" for name, length in lengths.items()))
    columns = np.broadcast_arrays(*arrays.values())
    count = columns[0].size
    # The layout of ashlar_buffer in memory.
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
