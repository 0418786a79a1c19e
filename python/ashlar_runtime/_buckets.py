"""Runs one model on requests of many sizes, each at the smallest planned size that holds it, with
shared weights and one arena as large as the largest.
"""
from __future__ import annotations

from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Union

import numpy as np

from . import _library as c
from ._family import Choice, Family
from ._model import Model, Plan, Session
from ._tensors import TensorInfo, aligned_block, as_inputs, padded


def plans_for(model: Model, batch: Sequence[int], shapes: Optional[Mapping[str, Union[str, Sequence[int]]]] = None,
              **plan: Any) -> Dict[int, Plan]:
    """Plan a model for several batch sizes, with shared weights.

    Parameters
    ----------
    model : Model
    batch : sequence of int
        The batch sizes.
    shapes : mapping of str to str or sequence of int, optional
        Shapes of inputs with further open dimensions, or with dimensions to change. Batch sizes
        replace their first dimensions.
    **plan
        Options of `Model.plan`.

    Returns
    -------
    dict of int to Plan
        The plans by batch size, ascending.
    """
    sizes = sorted(set(batch))
    if not sizes or sizes[0] < 1:
        raise c.InvalidArgument(f"batch is {list(batch)}; expected sizes from 1 on")
    first = model.plan(shapes=shapes, **{name: value for name, value in plan.items() if name not in ("budget", "max_extra_flops")})
    if any(not info.shape for info in first.inputs + first.outputs):
        raise c.InvalidArgument("batch: a tensor of the model has no dimensions")
    plans: Dict[int, Plan] = {}
    for size in sizes:
        of_size = {info.name: (size, *info.shape[1:]) for info in first.inputs}
        plans[size] = model.plan(shapes=of_size, share=next(iter(plans.values()), None), **plan)
    return plans


def weights_of(plans: Mapping[int, Plan]) -> int:
    """Return the bytes of the weights of plans that share them."""
    return sum(plan.memory.weights - plan.memory.weights_shared for plan in plans.values())


class Buckets:
    """Run requests of any size up to the largest.

    Each call runs at the smallest planned size that holds its arrays. It pads them with zeros, and
    cuts the rows of the padding off the results; `choose` says the size and the padding. In other
    dimensions than the batch the model computes on the zeros, too, and results keep their planned
    size. Calls of several threads take turns.

    Parameters
    ----------
    model : Model
    batch : sequence of int or mapping of str to str
        The batch sizes to plan, or the sizes of all dimensions by input, as for `Model.family`:
        {"images": "1..8x3x{224,320}x{224,320}"}.
    shapes : mapping of str to str or sequence of int, optional
        With batch sizes: shapes of inputs with more open dimensions than the batch.
    **plan
        Options of `Model.plan`.

    Attributes
    ----------
    plans : dict of int to Plan
        By batch size; of declared dimensions by the number of the point.
    points : dict of int to dict of str to tuple
        The shapes of the inputs, by the same.
    arena : int
        Bytes of the arena, shared by all sizes.
    weights : int
        Bytes of the shared weights.
    sessions : dict of int to Session
    """
    _family: Optional[Family] = None
    sessions: Dict[int, Session]

    def __init__(self, model: Model, batch: Union[Sequence[int], Mapping[str, str]],
                 shapes: Optional[Mapping[str, Union[str, Sequence[int]]]] = None, **plan: Any) -> None:
        if not isinstance(batch, Mapping):
            self._set_up(plans_for(model, batch, shapes, **plan))
            return
        if shapes is not None:
            raise c.InvalidArgument("shapes: batch declares the sizes of all dimensions")
        self._family = family = Family(model, batch, pad=True, **plan)
        self.plans, self.points = dict(enumerate(family.plans)), dict(enumerate(family.points))
        self.arena, self.weights = family.arena, family.weights
        self.sessions = dict(enumerate(family.sessions))

    @classmethod
    def of(cls, plans: Dict[int, Plan]) -> "Buckets":
        """Create buckets from plans by ascending batch size."""
        made = cls.__new__(cls)
        made._set_up(plans)
        return made

    def _set_up(self, plans: Dict[int, Plan]) -> None:
        self.plans = plans
        self.points = {size: {info.name: info.shape for info in plan.inputs} for size, plan in plans.items()}
        memories = [plan.memory for plan in plans.values()]
        self.arena = max(memory.arena for memory in memories)
        self.weights = weights_of(plans)
        block = aligned_block(self.arena, max(memory.arena_alignment for memory in memories))
        self.sessions = {size: plan.session(block) for size, plan in plans.items()}

    def __repr__(self) -> str:
        sizes = f"batch={list(self.plans)}" if self._family is None else repr(self._family.shapes)
        return f"Buckets({sizes}, arena={self.arena}, weights={self.weights})"

    def size_for(self, rows: int) -> int:
        """Return the smallest batch size that holds `rows` rows."""
        if self._family is not None:
            raise c.InvalidArgument("size_for: the sizes are of several dimensions; choose(x) finds the one that holds x")
        for size in self.plans:
            if rows <= size:
                return size
        raise c.InvalidArgument(f"{rows} rows; the batch sizes are " + ", ".join(map(str, self.plans)))

    def choose(self, inputs: Any = None, **named: Any) -> Choice:
        """Return the size at which a call with these arrays runs, and how much of it is padding."""
        if self._family is not None:
            return self._family.choose(inputs, **named)
        given, count = self._rows(named if inputs is None else inputs)
        size = self.size_for(count)
        return Choice(size, self.points[size], 1 - count / size)

    def _rows(self, inputs: Any) -> "Tuple[Dict[str, np.ndarray[Any, Any]], int]":
        """Return the arrays by input, and the number of their rows."""
        given = as_inputs(next(iter(self.plans.values())).inputs, inputs)
        rows = {name: array.shape[0] if array.ndim else 0 for name, array in given.items()}
        if len(set(rows.values())) != 1 or 0 in rows.values():
            raise c.InvalidArgument(f"inputs of as many rows each are expected, got {rows}")
        return given, next(iter(rows.values()))

    def __call__(self, inputs: Any = None, **named: Any) -> Any:
        """Run the model on arrays of any size up to the largest.

        Parameters
        ----------
        inputs : array or mapping of str to array, optional
            The input, or the inputs by name. Alternatively pass them as keyword arguments.

        Returns
        -------
        array or dict of str to array
            The output, or the outputs by name if there are several.
        """
        if self._family is not None:
            return self._family(inputs, **named)
        given, count = self._rows(named if inputs is None else inputs)
        size = self.size_for(count)
        filled = {info.name: _filled(info, given[info.name]) for info in self.plans[size].inputs if info.name in given}
        results = self.sessions[size](filled)
        if isinstance(results, Mapping):
            return {name: array[:count] for name, array in results.items()}
        return results[:count]


def _filled(info: TensorInfo, array: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
    if array.shape[0] == info.shape[0]:
        return array
    if array.dtype != info.dtype or array.shape[1:] != info.shape[1:]:
        raise c.InvalidArgument(f"input '{info.name}': got rows of {array.dtype}{list(array.shape[1:])}, expected "
                                f"{info.dtype}{list(info.shape[1:])}")
    return padded(array, info.shape)
