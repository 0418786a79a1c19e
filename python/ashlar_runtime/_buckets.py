"""One model at several batch sizes: weights in memory once, and one arena, the largest."""
from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence

import numpy as np

from . import _library as c
from ._model import Model, Plan, Session, TensorInfo, aligned_block, as_inputs


class Buckets:
    """Runs requests of any number of rows up to the largest batch size, in the least that holds them. Not from two threads at
    once. Inputs and outputs are those of all rows; what is missing in a batch is zeros, and its results are cut off."""

    def __init__(self, model: Model, batch: Sequence[int], **plan: Any) -> None:
        sizes = sorted(set(batch))
        if not sizes or sizes[0] < 1:
            raise c.InvalidArgument(f"batch is {list(batch)}; expected sizes from 1 on")
        first = model.plan(**plan)
        if any(not info.shape for info in first.inputs + first.outputs):
            raise c.InvalidArgument("batch: a tensor of the model has no dimensions")
        self.plans: Dict[int, Plan] = {}
        for size in sizes:
            shapes = {info.name: (size, *info.shape[1:]) for info in first.inputs}
            share = next(iter(self.plans.values()), None)
            self.plans[size] = model.plan(shapes=shapes, share=share, **plan)
        memories = [plan.memory for plan in self.plans.values()]
        self.arena = max(memory.arena for memory in memories)
        self.weights = sum(memory.weights - memory.weights_shared for memory in memories)
        block = aligned_block(self.arena, max(memory.arena_alignment for memory in memories))
        self.sessions: Dict[int, Session] = {size: plan.session(block) for size, plan in self.plans.items()}

    def size_for(self, rows: int) -> int:
        """The least batch size that holds so many rows."""
        for size in self.plans:
            if rows <= size:
                return size
        raise c.InvalidArgument(f"{rows} rows; the largest batch size is {max(self.plans)}")

    def __call__(self, inputs: Any = None, **named: Any) -> Any:
        some = next(iter(self.plans.values()))
        given = as_inputs(some.inputs, named if inputs is None else inputs)
        rows = {name: array.shape[0] if array.ndim else 0 for name, array in given.items()}
        if len(set(rows.values())) != 1 or 0 in rows.values():
            raise c.InvalidArgument(f"inputs of as many rows each are expected, got {rows}")
        count = next(iter(rows.values()))
        size = self.size_for(count)
        padded = {info.name: _padded(info, given[info.name]) for info in self.plans[size].inputs if info.name in given}
        results = self.sessions[size](padded)
        if isinstance(results, Mapping):
            return {name: array[:count] for name, array in results.items()}
        return results[:count]


def _padded(info: TensorInfo, array: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    if array.shape[0] == info.shape[0]:
        return array
    if array.dtype != info.dtype or array.shape[1:] != info.shape[1:]:
        raise c.InvalidArgument(f"input '{info.name}': got rows of {array.dtype}{list(array.shape[1:])}, expected "
                                f"{info.dtype}{list(info.shape[1:])}")
    block = np.zeros(info.shape, info.dtype)
    block[:array.shape[0]] = array
    return block
