"""Runs one model at every combination of declared sizes, with one copy of the weights and one arena as
large as the largest.
"""
from __future__ import annotations

import ctypes
from typing import Any, Dict, List, Mapping, NamedTuple, Tuple, Union

import numpy as np

from . import _library as c
from ._model import Model, Plan, Session
from ._options import _plan_options
from ._tensors import _encoded, _memory, aligned_block, as_inputs, padded
from ._watch import watched


class Choice(NamedTuple):
    """The point that a request runs at."""
    point: int
    shapes: Dict[str, Tuple[int, ...]]  # of the inputs at that point
    padding: float  # the part of the inputs' elements that is padding: 0 without padding


def _declared(shapes: Mapping[str, str]) -> str:
    """Return the sizes as the library's text."""
    return " ".join(f"{name}={text}" for name, text in shapes.items())


def planned_family(model: Model, shapes: Mapping[str, str], plan: Dict[str, Any]) -> Tuple[c.Handle, List[Plan]]:
    """Return a family of the library, and its plans. Nothing is allocated yet."""
    if not isinstance(shapes, Mapping) or not shapes:
        raise c.InvalidArgument(f"shapes is {shapes!r}; expected a dict, such as {{'images': '1..8x3x{{224,320}}x224'}}")
    for name, text in shapes.items():
        if not isinstance(text, str) or " " in text or " " in name:
            raise c.InvalidArgument(f"the sizes of '{name}' are {text!r}; expected a text such as '1..8x3x{{224,320}}x224'")
    given = dict(plan)
    progress = given.pop("progress", None)
    options = _plan_options(**given)
    handle = watched(
        options, lambda: c.Handle("family", "model_family", model._handle.pointer, _encoded(_declared(shapes)), ctypes.byref(options)), progress)
    first, count = ctypes.POINTER(ctypes.c_void_p)(), ctypes.c_size_t()
    c.call("family_plans", handle.pointer, ctypes.byref(first), ctypes.byref(count))
    return handle, [Plan._of_family(model, given, handle, first[i]) for i in range(count.value)]


class Family:
    """Run a model at any of the declared sizes.

    Call the family as a session: the shapes of the arrays choose the point. Sizes that are not
    declared are refused; with `pad`, the smallest point that holds the arrays runs, on arrays that
    are filled up with zeros behind their elements. Of the results only the rows of padded batches
    are cut off: what padding in other dimensions does to a result is the model's affair, and
    `choose` says how much of it there is. Calls of several threads take turns.

    Create families with `Model.family`.

    Attributes
    ----------
    plans : list of Plan
        The plan of each point.
    points : list of dict of str to tuple
        The shapes of the inputs at each point.
    sessions : list of Session
    arena : int
        Bytes of the arena, which all points share.
    weights : int
        Bytes of the weights, which all points share.
    """

    def __init__(self, model: Model, shapes: Mapping[str, str], pad: bool = False, **plan: Any) -> None:
        self._handle, self.plans = planned_family(model, shapes, plan)
        self.shapes, self.pad = dict(shapes), pad
        self._declared = _declared(shapes)
        memory = c.Memory()
        c.call("family_memory", self._handle.pointer, ctypes.byref(memory))
        self.memory = _memory(memory)
        self.arena, self.weights = self.memory.arena, self.memory.weights
        self.points = [{info.name: info.shape for info in of.inputs} for of in self.plans]
        block = aligned_block(self.arena, self.memory.arena_alignment)
        self.sessions: List[Session] = [of.session(block) for of in self.plans]

    def __repr__(self) -> str:
        return f"Family({self._declared}, points={len(self.plans)}, arena={self.arena}, weights={self.weights})"

    def choose(self, inputs: Any = None, **named: Any) -> Choice:
        """Return the point at which a call with these arrays runs, and how much of it is padding."""
        return self._choose(self._given(inputs, named))

    def _given(self, inputs: Any, named: Dict[str, Any]) -> "Dict[str, np.ndarray[Any, Any]]":
        return as_inputs(self.plans[0].inputs, named if inputs is None else inputs)

    def _choose(self, given: "Dict[str, np.ndarray[Any, Any]]") -> Choice:
        shapes = _plan_options(shapes={name: array.shape for name, array in given.items()})
        at = ctypes.c_size_t()
        c.call("family_point", self._handle.pointer, shapes.shapes, shapes.num_shapes, int(self.pad), ctypes.byref(at))
        chosen = self.points[at.value]
        elements = sum(int(np.prod(shape)) for name, shape in chosen.items() if name in given)
        held = sum(array.size for array in given.values())
        return Choice(at.value, chosen, 1 - held / elements if elements else 0.0)

    def __call__(self, inputs: Any = None, **named: Any) -> Any:
        """Run the model at the point of these arrays.

        Parameters
        ----------
        inputs : array or mapping of str to array, optional
            The input, or the inputs by name. Alternatively pass them as keyword arguments.

        Returns
        -------
        array or dict of str to array
            The output, or the outputs by name if there are several.
        """
        given = self._given(inputs, named)
        choice = self._choose(given)
        session = self.sessions[choice.point]
        if choice.padding == 0:
            return session(given)
        results = session({name: padded(array, choice.shapes[name]) for name, array in given.items()})
        rows = {(array.shape[0], choice.shapes[name][0]) for name, array in given.items() if array.ndim}
        if len(rows) != 1:
            return results
        return _cut(results, *rows.pop())

    def reset(self) -> None:
        """Set the states of all points to their first values."""
        for session in self.sessions:
            session.reset()


def _cut(results: Any, rows: int, planned: int) -> Any:
    """Cut the rows of a padded batch off results that have as many."""
    if isinstance(results, dict):
        return {name: _cut(array, rows, planned) for name, array in results.items()}
    return results[:rows] if results.ndim and results.shape[0] == planned else results
