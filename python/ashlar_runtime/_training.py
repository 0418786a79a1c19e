"""Training: a step is one run of one plan, whose memory is known before the first step."""
from __future__ import annotations

import ctypes
import os
from typing import Any, Dict, List, Optional, Protocol, Union

import numpy as np

from . import _library as c
from ._locks import Turns
from ._options import _plan_options
from ._tensors import Array, TensorInfo, _address, _encoded, _info, _list, _memory, _numpy, mismatch
from ._watch import ProgressFunction, watched

OPTIMIZERS = ("sgd", "adam", "adamw")
LOSSES = ("cross-entropy", "mse")
Path = Union[str, "os.PathLike[str]"]


def _place(what: str, name: str, names: "tuple[str, ...]") -> int:
    if name not in names:
        raise c.InvalidArgument(f"{what} is {name!r}; expected " + ", ".join(names))
    return names.index(name)


class _Model(Protocol):
    """The part of `Model` that a training needs. The file of `Model` imports this one."""
    _handle: c.Handle

    def _warn_of_notes(self, stacklevel: int) -> None: ...


class TrainingSession:
    """Train a model, step by step.

    Calls of several threads take turns.

    Parameters
    ----------
    model : Model
    optimizer : {"sgd", "adam", "adamw"}, default "sgd"
    loss : {"cross-entropy", "mse"}, default "cross-entropy"
    momentum : float, optional
        For "sgd"; by default 0.9.
    weight_decay : float, default 0
    nesterov : bool, default False
        Use Nesterov's momentum.
    frozen_batch_norm : bool, default False
        Normalise by the model's statistics and keep them, instead of using the batch's.
    freeze : str, optional
        A regular expression; weights whose names contain a match are not trained.
    classes : int, default 0
        Replace the last fully connected layer by a new one for so many classes; 0 keeps it.
    seed : int, default 1
        The seed of that layer.
    progress : callable, optional
        See `Model.plan`.
    **plan
        Options of `Model.plan` for the plan of a step: threads, shapes for the batch, ...

    Attributes
    ----------
    memory : Memory
    images, labels, outputs : TensorInfo
    states : dict of str to TensorInfo
    """

    def __init__(self, model: _Model, optimizer: str = "sgd", loss: str = "cross-entropy", momentum: Optional[float] = None,
                 weight_decay: float = 0.0, nesterov: bool = False, frozen_batch_norm: bool = False,
                 freeze: Optional[str] = None, classes: int = 0, seed: int = 1, progress: Optional[ProgressFunction] = None,
                 **plan: Any) -> None:
        step = _plan_options(**plan)
        if momentum is None:
            momentum = 0.9 if optimizer == "sgd" else 0.0
        options = c.TrainingOptions(
            plan=ctypes.pointer(step), optimizer=_place("optimizer", optimizer, OPTIMIZERS), loss=_place("loss", loss, LOSSES),
            momentum=momentum, weight_decay=weight_decay, nesterov=int(nesterov), frozen_batch_norm=int(frozen_batch_norm),
            freeze=_encoded(freeze), classes=classes, seed=seed)
        self._turns = Turns()
        self._model = model  # keeps its bytes alive
        self._handle = watched(step, lambda: c.Handle("training", "model_train", model._handle.pointer, ctypes.byref(options)),
                               progress)
        model._warn_of_notes(stacklevel=3)
        memory = c.Memory()
        c.call("training_memory", self._handle.pointer, ctypes.byref(memory))
        self.memory = _memory(memory)
        self.images, self.labels = self._infos("training_inputs")
        self.outputs = self._infos("training_outputs")[0]
        self.states: Dict[str, TensorInfo] = {info.name: info for info in self._infos("training_states")}

    def _call(self, name: str, *arguments: Any) -> None:
        with self._turns:
            c.call(name, self._handle.pointer, *arguments)

    def __repr__(self) -> str:
        m = self.memory
        return f"TrainingSession(images={list(self.images.shape)}, steps={self.steps}, arena={m.arena}, state={m.state})"

    def __reduce__(self) -> Any:
        raise TypeError("a training cannot be pickled: checkpoint(path) keeps its states, save(path) the model")

    def _infos(self, name: str) -> List[TensorInfo]:
        return [_info(tensor) for tensor in _list(name, self._handle, c.Tensor)]

    @staticmethod
    def _checked(info: TensorInfo, array: Array) -> "np.ndarray[Any, Any]":
        given = _numpy(info.name, array)
        if given.dtype != info.dtype or given.shape != info.shape:
            raise c.InvalidArgument(f"{info.name}: {mismatch(given, info)}")
        return np.ascontiguousarray(given)

    def step(self, images: Array, labels: Array, rate: float) -> float:
        """Run one step at this learning rate, and return the loss before the update."""
        x, t, loss = self._checked(self.images, images), self._checked(self.labels, labels), ctypes.c_float()
        self._call("training_step", _address(x), x.nbytes, _address(t), t.nbytes, rate, ctypes.byref(loss))
        return loss.value

    def evaluate(self, images: Array) -> "np.ndarray[Any, Any]":
        """Return the model's output for `images` with the current weights: logits, or its own
        output.
        """
        x, y = self._checked(self.images, images), np.empty(self.outputs.shape, self.outputs.dtype)
        self._call("training_evaluate", _address(x), x.nbytes, _address(y), y.nbytes)
        return y

    def _state(self, name: str) -> TensorInfo:
        if name not in self.states:
            raise c.InvalidArgument(f"no state '{name}'; there are: " + ", ".join(self.states))
        return self.states[name]

    def read(self, name: str) -> "np.ndarray[Any, Any]":
        """Return a copy of a state."""
        info = self._state(name)
        value = np.empty(info.shape, info.dtype)
        self._call("training_read", name.encode(), _address(value), value.nbytes)
        return value

    def write(self, name: str, value: Array) -> None:
        """Set a state, which must have the same dtype and shape."""
        array = self._checked(self._state(name), value)
        self._call("training_write", name.encode(), _address(array), array.nbytes)

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        steps = ctypes.c_int64()
        self._call("training_steps", ctypes.byref(steps))
        return steps.value

    def checkpoint(self, path: Path) -> None:
        """Write a checkpoint, a .ash file for `resume`; `path` is replaced when all is written."""
        self._call("training_checkpoint", os.fsencode(path))

    def resume(self, path: Path) -> None:
        """Resume from a checkpoint of the same options. Later steps have the same losses, to the
        last bit.
        """
        self._call("training_resume", os.fsencode(path))

    def save(self, path: Path) -> None:
        """Write the model with its current weights to a .ash or .onnx file, for its original batch
        size.
        """
        self._call("training_save", os.fsencode(path))
