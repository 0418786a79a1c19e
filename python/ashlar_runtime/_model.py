"""Models, plans and sessions. Arrays are used at their own addresses: nothing is converted or
copied silently.
"""
from __future__ import annotations

import ctypes
import json
import os
import threading
import warnings
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _library as c
from ._files import as_files
from ._locks import Turns
from ._options import _plan_options
from ._tensors import (Array, Measured, TensorInfo, _OnDevice, _Tensor, _address, _by_name, _encoded, _info,
                       _list, _memory, _numpy, _tensor, _text, aligned_block, mismatch)
from ._training import TrainingSession
from ._watch import ProgressFunction, watched

if TYPE_CHECKING:
    from ._family import Family

_BYTES_ALIGNMENT = 64  # for a model in memory
_DEFAULT_STREAM = 1  # cudaStreamLegacy; its other name, 0, means no stream to the library
BUFFER_DTYPE = np.dtype([("id", "i8"), ("lower", "i8"), ("upper", "i8"), ("size", "i8"), ("alignment", "i8"),
                         ("offset", "i8"), ("inside", "i8"), ("inside_offset", "i8"), ("name", "O")])


Numbers = Union[float, Sequence[float], "np.ndarray[Any, Any]"]


class StepInfo(NamedTuple):
    """A step of a plan: its operator, its kernel ("" if nothing runs), live bytes and workspace."""
    name: str
    type: str
    kernel: str
    live_bytes: int
    scratch_bytes: int


class StepTime(NamedTuple):
    """A step of a run: its operator, its kernel, and the milliseconds it took and was expected to take."""
    name: str
    type: str
    kernel: str
    ms: float
    expected_ms: float


def _copied(source: Union[bytes, bytearray, memoryview]) -> "np.ndarray[Any, Any]":
    """Copy a model into memory that the library can read it from."""
    size = memoryview(source).nbytes
    block = aligned_block(size, _BYTES_ALIGNMENT)[:size]
    if size:
        block[:] = np.frombuffer(source, np.uint8)
    return block


def _open_options(bounds: Optional[Mapping[str, int]], files: Optional[Mapping[str, Array]],
                  values: Optional[Mapping[str, Numbers]] = None) -> c.OpenOptions:
    listed = [c.Bound(name.encode(), most) for name, most in (bounds or {}).items()]
    held = as_files(files)
    given = []
    for name, value in (values or {}).items():
        numbers = np.ravel(value).astype(np.float64).tolist()
        given.append(c.InputValue(name.encode(), (ctypes.c_double * len(numbers))(*numbers), len(numbers)))
    return c.OpenOptions(bounds=(c.Bound * len(listed))(*listed), num_bounds=len(listed), files=held, num_files=len(held),
                         values=(c.InputValue * len(given))(*given), num_values=len(given))


class Model:
    """A model.

    A model file is mapped, and must not shrink while the model is in use. If its disk fails, opening
    and planning raise `RejectedFile`. Runs read it only for packed weights, and then end the process
    (SIGBUS); with `weights_budget` they raise `RejectedFile`, or need no file if that is enough for
    all weights.

    Parameters
    ----------
    source : str, os.PathLike or bytes-like
        The path of a .ash, .onnx or .tflite file, or the contents of one.
    bounds : mapping of str to int, optional
        Of an ONNX model: the most places to plan for, of values whose sizes depend on data, by the
        name of the value or its node. More in a run are an error that names the node.
    files : mapping of str to array, optional
        Of an ONNX model in memory: its external data, by the location that the model has for it.
        The arrays are read in place; those whose values are packed are released then.
    values : mapping of str to float or sequence, optional
        Of an ONNX model: numbers for inputs that become constants, such as a sampling rate:
        {"sr": 16000}.

    Raises
    ------
    MissingFile
        If the file does not exist.
    RejectedFile
        If the file cannot be read, is damaged, or is of another kind.
    """
    _handle: c.Handle
    _opened_as: Tuple[Any, ...] = ()  # for pickle
    _parts: "Tuple[Model, ...]" = ()  # the models of a pipeline, which reads their bytes
    _warned = 0  # notes that were warned of

    def __init__(self, source: Union[str, "os.PathLike[str]", bytes, bytearray, memoryview],
                 bounds: Optional[Mapping[str, int]] = None, files: Optional[Mapping[str, Array]] = None,
                 values: Optional[Mapping[str, Numbers]] = None) -> None:
        options = _open_options(bounds, files, values)
        if isinstance(source, (bytes, bytearray, memoryview)):
            self._open_block(_copied(source), options)
        else:
            self.path = os.fspath(source)
            try:
                self._handle = c.Handle("model", "model_open_with", os.fsencode(self.path), ctypes.byref(options))
            except c.RejectedFile as error:
                if os.path.exists(self.path):
                    raise
                raise c.MissingFile(str(error)) from None
        self._opened_as = Model, (source, *(None if given is None else dict(given) for given in (bounds, files, values)))
        self._warn_of_notes(stacklevel=4)

    @property
    def notes(self) -> List[str]:
        """Notes about values that are computed otherwise than the file says.

        For example "double is computed as Float32 by GridSample". Each is also warned of, once. Notes of a
        model that needs shapes are there after its first plan.
        """
        notes: List[str] = []
        while (note := c.LIBRARY.ashlar_model_note(self._handle.pointer, len(notes))) is not None:
            notes.append(_text(note))
        return notes

    def _warn_of_notes(self, stacklevel: int) -> None:
        notes = self.notes
        for note in notes[self._warned:]:
            warnings.warn(f"{self.path or 'the model'}: {note}", UserWarning, stacklevel=stacklevel)
        self._warned = len(notes)

    def _open_block(self, block: "np.ndarray[Any, Any]", options: c.OpenOptions) -> None:
        self.path = ""
        self._bytes = block  # kept alive by everything created from the model
        self._handle = c.Handle("model", "model_open_bytes_with", block.ctypes.data, block.nbytes, ctypes.byref(options))

    @classmethod
    def _in_block(cls, block: "np.ndarray[Any, Any]", files: Mapping[str, Array]) -> "Model":
        """Open an ONNX model where it and its files are, without a copy. It cannot be pickled."""
        model = cls.__new__(cls)
        model._open_block(block, _open_options(None, files))
        return model

    @property
    def inputs(self) -> List[TensorInfo]:
        """The inputs in the file, before planning.

        Open dimensions are -1, and `bytes` is then 0.
        """
        return [_info(t) for t in _list("model_inputs", self._handle, c.Tensor)]

    @property
    def outputs(self) -> List[TensorInfo]:
        """The outputs in the file, before planning.

        Dimensions that depend on open dimensions of the inputs are -1.
        """
        return [_info(t) for t in _list("model_outputs", self._handle, c.Tensor)]

    def __repr__(self) -> str:
        return f"Model({self.path!r})" if self.path else "Model(bytes)"

    def __reduce__(self) -> Any:
        """Pickle the path, or the bytes; the model is opened again when unpickled."""
        if not self._opened_as:
            raise TypeError("a model made of a PyTorch module cannot be pickled; pickle the module")
        return self._opened_as

    def then(self, following: "Model") -> "Model":
        """Join this model with a following one.

        Inputs of `following` read the outputs of the same names. If each model has only one, the
        input reads the output.

        Parameters
        ----------
        following : Model

        Returns
        -------
        Model
        """
        if not isinstance(following, Model):
            raise c.InvalidArgument(f"{type(following).__name__} follows a model; expected a Model")
        joined = Model.__new__(Model)
        joined.path = f"{self.path} then {following.path}"
        joined._parts = self, following
        joined._opened_as = Model.then, (self, following)
        joined._handle = c.Handle("model", "model_join", self._handle.pointer, following._handle.pointer)
        joined._warned = len(joined.notes)  # by its parts
        return joined

    def with_pixels(self, pixels: str, shapes: Optional[Mapping[str, Union[str, Sequence[int]]]] = None) -> "Model":
        """Make a model that takes pixels as cameras and decoders give them.

        An input of floats (N, C, H, W) becomes bytes (N, H, W, C) of the same name. The model
        itself scales, orders and normalises them, so plans count it and compute it in tiles.

        Parameters
        ----------
        pixels : str
            "[NAME=]PART,...", with parts 480x640 (height and width), rgb, bgr, imagenet,
            mean:R/G/B and scale:R/G/B: (x - mean) * scale. With nv12, nv21, i420 or yv12 the
            input becomes bytes (N, H * 3 / 2, W), of bt601 (default) or bt709, limited (default)
            or full.
        shapes : mapping of str to shape, optional
            Other shapes of this model's inputs, before.

        Returns
        -------
        Model
        """
        return self._with("pixels", pixels, shapes, (Model.with_pixels, (self, pixels, shapes)))

    def with_channels_last(self, shapes: Optional[Mapping[str, Union[str, Sequence[int]]]] = None) -> "Model":
        """Make a model of images (N, H, W, C), for its inputs and outputs (N, C, H, W).

        Plans count the conversion. A TensorFlow Lite model stays as it is.

        Parameters
        ----------
        shapes : mapping of str to shape, optional
            Other shapes of this model's inputs, before.

        Returns
        -------
        Model
        """
        return self._with("channels_last", None, shapes, (Model.with_channels_last, (self, shapes)))

    def with_states(self, states: Mapping[str, str], shapes: Optional[Mapping[str, Union[str, Sequence[int]]]] = None) -> "Model":
        """Make a model with state between runs.

        Each output becomes the input of the next run, which is then no input any more; at first it
        is zeros. The outputs are outputs no more, unless no other is left. Each session has its own
        states (`Session.reset`, `read_state`, `write_state`).

        Parameters
        ----------
        states : mapping of str to str
            The input by output: {"h_out": "h_in"}.
        shapes : mapping of str to shape, optional
            Other shapes of this model's inputs, before.

        Returns
        -------
        Model
        """
        links = " ".join(f"{output}={name}" for output, name in states.items())
        return self._with("states", links, shapes, (Model.with_states, (self, states, shapes)))

    def _with(self, what: str, text: Optional[str], shapes: Optional[Mapping[str, Union[str, Sequence[int]]]], opened_as: Tuple[Any, Tuple[Any, ...]]) -> "Model":
        """Convert the model by the library's function model_with_`what`. `opened_as`: the call that repeats this."""
        given = _plan_options(shapes=shapes)
        converted = Model.__new__(Model)
        converted.path = f"{self.path} with {what} {text or ''}".rstrip()
        converted._parts = (self,)
        converted._opened_as = opened_as
        converted._handle = c.Handle("model", f"model_with_{what}", self._handle.pointer, *([] if text is None else [text.encode()]), given.shapes,
                                     given.num_shapes)
        converted._warned = len(converted.notes)
        return converted

    def plan(self, budget: Union[int, str, None] = None, threads: int = 0,
             shapes: Optional[Mapping[str, Union[str, Sequence[int]]]] = None, prefer: str = "speed", exact: bool = False,
             max_extra_flops: Optional[float] = None, tile: Optional[str] = None, device: Optional[str] = None,
             precision: Optional[str] = None, kernel_record: Optional[str] = None, share: Optional["Plan"] = None,
             release_input: bool = False, time_limit: float = 0, progress: Optional[ProgressFunction] = None,
             passes: Optional[str] = None, plan_file: Optional[Union[str, "os.PathLike[str]"]] = None,
             **more: Union[str, int, None]) -> "Plan":
        """Plan the memory of a run, to the byte, without allocating it.

        Parameters
        ----------
        budget : int or str, optional
            Limit on the arena: bytes, a size such as "3.3MB", or "min" for the smallest arena.
        threads : int, default 0
            The number of threads; 0 uses all processors available to this process.
        shapes : mapping of str to str or sequence of int, optional
            Shapes by input: (1, 3, 224, 224) or "1x3x224x224".
        prefer : {"speed", "memory"}, default "speed"
            "memory" prefers kernels with little workspace and small weights.
        exact : bool, default False
            Exclude kernels that round differently from a plain sum (Winograd).
        max_extra_flops : float, optional
            Under a budget, limit on recomputed operations as a ratio; 0 allows none. By default
            there is no limit.
        tile : str, optional
            Tiles in the format of the command's --tile. The default is the tuned tiles of
            `kernel_record`, if any.
        device : str, optional
            The device, by default "cpu0:0".
        precision : {"fp32", "fp16", "bf16"}, optional
            By default "fp32".
        kernel_record : str, optional
            A file of tuned kernels, written by `ashlar tune`.
        share : Plan, optional
            A plan without sessions yet. Weights that both plans use in the same format are stored
            once. If both stream their weights, their runs take turns in one window, of any models.
        release_input : bool, default False
            Donate the inputs: they are in the arena (`Session.released_input`), and rows that have
            been read are reused.
        time_limit : float, default 0
            Limit on the seconds of planning; 0 is no limit.
        progress : callable, optional
            Called with a `Progress` about twenty times a second. An exception that it raises ends
            planning, as Ctrl-C does.
        passes : str, optional
            The passes over the graph, in the format of the command's --passes. The default is all.
        plan_file : str or os.PathLike, optional
            A plan that `Plan.save` or the command stored, which is used without a search. Options
            that it settles may not be set beside it.
        **more : str, int, bool or None
            Other planning options of the command, with underscores: planner="exact", inplace=False,
            scheduler="megengine", align=256, plan_time="1s", processor="avx2/32K/512K".

        Returns
        -------
        Plan

        Raises
        ------
        DoesNotFit
            If no plan fits the budget. `smallest` is a sufficient budget.
        OutOfTime
            If planning takes more than `time_limit` seconds. There is no partial result, because a
            plan must not depend on the clock.
        """
        options = {"budget": budget, "threads": threads, "shapes": shapes, "prefer": prefer, "exact": exact,
                   "max_extra_flops": max_extra_flops, "tile": tile, "device": device, "precision": precision,
                   "kernel_record": kernel_record, "release_input": release_input, "passes": passes,
                   "plan_file": plan_file, **more}
        return Plan(self, options, share, time_limit, progress)

    def family(self, shapes: Mapping[str, str], pad: bool = False, **plan: Any) -> "Family":
        """Plan the model at every combination of declared sizes.

        Parameters
        ----------
        shapes : mapping of str to str
            The sizes by input: "1..8x3x{224,320}x{224,320}". A dimension is a number, a range 1..8,
            or a list {224,320}. There are at most 1024 points.
        pad : bool, default False
            Run arrays of other sizes at the smallest point that holds them.
        **plan
            Options of `plan`.

        Returns
        -------
        Family
        """
        from ._family import Family
        return Family(self, shapes, pad, **plan)

    def pack(self, path: Union[str, "os.PathLike[str]"], plan: "Plan") -> None:
        """Write the model to a .ash file with weights packed for a plan.

        Plans of that file with the same options, for any number of threads, use the weights in the
        file without copying them. Processes share them as pages of the file.

        Parameters
        ----------
        path : str or os.PathLike
        plan : Plan
            A plan of this model.
        """
        watched(plan._options, lambda: c.call("model_pack", self._handle.pointer, ctypes.byref(plan._options), os.fsencode(path)))

    def train(self, **options: Any) -> TrainingSession:
        """Create a `TrainingSession` of this model; `options` include the options of `plan`."""
        return TrainingSession(self, **options)

    def compile(self, arena: Optional[Array] = None, stream: Optional[int] = None, **plan: Any) -> "Session":
        """Plan the model and create a session.

        Parameters
        ----------
        arena : array, optional
            The memory to run in.
        stream : int, optional
            The stream to run on.
        **plan
            Options of `plan`.

        Returns
        -------
        Session
        """
        return self.plan(**plan).session(arena, stream)


class Plan:
    """A plan: all decisions about memory, before any is allocated.

    Create plans with `Model.plan`.

    Attributes
    ----------
    memory : Memory
        The bytes that sessions need.
    inputs, outputs, states : list of TensorInfo
    choices : dict
        The options of `Model.plan` that make this plan again without a search: "tile", "passes",
        "prefer", and other planning options that are not the default, such as "precision",
        "release_input" or "align". Threads, device, shapes and `processor` are not among them.
    """
    _handle: c.Handle

    def __init__(self, model: Model, options: Dict[str, Any], share: Optional["Plan"] = None, time_limit: float = 0,
                 progress: Optional[ProgressFunction] = None) -> None:
        self._model: Optional[Model] = model  # keeps its bytes alive
        self._given, self._shares = options, share is not None
        self._options = _plan_options(**options, time_limit=time_limit)
        self._options.share = None if share is None else share._handle.pointer
        self._handle = watched(
            self._options, lambda: c.Handle("plan", "model_plan", model._handle.pointer, ctypes.byref(self._options)), progress)
        self._options.time_limit = 0  # pack() uses the other options
        self._describe(model)

    @classmethod
    def _of_family(cls, model: Model, options: Dict[str, Any], family: c.Handle, address: Optional[int]) -> "Plan":
        """Return the plan of a point, which belongs to its family."""
        plan = cls.__new__(cls)
        plan._model, plan._given, plan._shares = model, options, True
        plan._options = _plan_options(**{**options, "time_limit": 0})
        plan._handle = c.Handle.borrowed(family, address or 0)
        plan._describe(model)
        return plan

    def _describe(self, model: Model) -> None:
        memory = c.Memory()
        c.call("plan_memory", self._handle.pointer, ctypes.byref(memory))
        self.memory = _memory(memory)
        choices = c.Choices()
        c.call("plan_choices", self._handle.pointer, ctypes.byref(choices))
        self.choices: Dict[str, Any] = {"tile": _text(choices.tile), "passes": _text(choices.passes),
                                        "prefer": "memory" if choices.prefer_memory else "speed"}
        for option in _text(choices.more).split():
            name, _, value = option.partition("=")
            self.choices[name.replace("-", "_")] = {"on": True, "off": False}.get(value, value)
        model._warn_of_notes(stacklevel=4)
        self._warn_of_total()
        self.inputs = [_info(t) for t in _list("plan_inputs", self._handle, c.Tensor)]
        self.outputs = [_info(t) for t in _list("plan_outputs", self._handle, c.Tensor)]
        self._counted = [(self.outputs[k.output].name, self.outputs[k.count].name, k.axis)
                         for k in _list("plan_counted", self._handle, c.Counted)]
        self.states = [_info(t) for t in _list("plan_states", self._handle, c.Tensor)]

    def _warn_of_total(self) -> None:
        """Warn if the smaller arena of a budget takes more memory in all."""
        m = self.memory
        if 0 < m.total_without_budget < m.total:
            cause = "the search for tiles leaves unused memory behind" if self.choices["tile"] == "none" else (
                "tiles pack weights in more or larger forms, and have more operators. prefer='memory' keeps weights small")
            warnings.warn(
                f"the total of this plan is {m.total} bytes, larger than {m.total_without_budget} without a budget: {cause}",
                RuntimeWarning, stacklevel=4)

    @property
    def steps(self) -> List[StepInfo]:
        """The steps of the plan, in the order of execution."""
        return [StepInfo(_text(s.name), _text(s.type), _text(s.kernel), s.live_bytes, s.scratch_bytes)
                for s in _list("plan_steps", self._handle, c.Step)]

    @property
    def buffers(self) -> "np.ndarray[Any, Any]":
        """The buffers of the plan, one row each.

        Lifetimes are half-open, [lower, upper), in steps; sizes and offsets are in bytes; `inside`
        is the index of the enclosing buffer, or -1.
        """
        rows = [(b.id, b.lower, b.upper, b.size, b.alignment, b.offset, b.inside, b.inside_offset, _text(b.name))
                for b in _list("plan_buffers", self._handle, c.Buffer)]
        return np.array(rows, dtype=BUFFER_DTYPE)

    def export(self, format: str) -> str:
        """Return the plan as "svg", "csv", "html" or "json", in the command's formats.

        "c" or "c:NAME" returns it as a program in C99 for microcontrollers, in one file, if the plan
        is for the device "mcu0:0" (docs/microcontrollers.md).
        """
        parts: List[bytes] = []

        def write(_: Any, data: int, size: int) -> int:
            parts.append(ctypes.string_at(data, size))
            return 0

        c.call("plan_export", self._handle.pointer, format.encode(), c.WRITE(write), None)
        return b"".join(parts).decode("utf-8", "replace")

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Write the plan to a file, for `Model.plan(plan_file=path)` and the command's --plan."""
        if self._model is None:
            raise c.InvalidArgument("the plan's model was released")
        c.call("plan_save", self._handle.pointer, self._model._handle.pointer, os.fsencode(path))

    def svg(self) -> str:
        """Return the picture of the plan."""
        return self.export("svg")

    def html(self) -> str:
        """Return a self-contained page that shows the plan."""
        return self.export("html")

    def json(self) -> Any:
        """Return the data of that page: plan_document in docs/json.schema.json."""
        return json.loads(self.export("json"))

    def _repr_html_(self) -> str:
        return self.svg()

    def load(self) -> None:
        """Pack the weights now; otherwise the first session packs them."""
        c.call("plan_load", self._handle.pointer)

    def _release_model(self) -> None:
        """Release an ONNX model in memory, whose bytes are not read after planning."""
        self._model = None

    def verify(self) -> Measured:
        """Run the plan in memory filled with patterns, and measure how many bytes runs write."""
        measured = c.Measured()
        c.call("plan_verify", self._handle.pointer, ctypes.byref(measured))
        return Measured(measured.arena, measured.weights, measured.output, measured.heap_calls, bool(measured.ok))

    def session(self, arena: Optional[Array] = None, stream: Optional[int] = None) -> "Session":
        """Create a `Session` of this plan, with the same parameters."""
        return Session(self, arena, stream)

    def __repr__(self) -> str:
        m = self.memory
        return f"Plan(arena={m.arena}, weights={m.weights}, lower_bound={m.lower_bound}, proof={m.proof!r})"

    def __reduce__(self) -> Any:
        """Pickle the model and the options; the model is planned again when unpickled."""
        if self._shares:
            raise TypeError("a plan that shares weights cannot be pickled, because the shared weights are in the memory of this process")
        if self._model is None:
            raise TypeError("a plan made of a PyTorch module cannot be pickled; pickle the module")
        return Plan, (self._model, self._given)


class _Slot:
    """A tensor of a session, and the array bound to it, which it keeps alive."""
    __slots__ = ("array", "place", "_bind", "_bytes", "_info", "_name", "_on_host", "_session", "_side")

    def __init__(self, side: str, info: TensorInfo, session: ctypes.c_void_p, on_host: bool) -> None:
        self.array: Optional[_Tensor] = None
        self.place: "Optional[np.ndarray[Any, Any]]" = None  # of a donated input
        self._on_host = on_host
        self._side, self._info, self._session = side, info, session
        self._name, self._bytes = info.name.encode(), info.bytes
        self._bind = c.LIBRARY.ashlar_bind_input if side == "input" else c.LIBRARY.ashlar_bind_output

    def bind(self, given: Array) -> None:
        info = self._info
        array = _tensor(f"{self._side} '{info.name}'", given)
        if isinstance(array, _OnDevice):
            self._bind_on_device(array)
            self.array = array
            return
        flags = array.flags
        if array.dtype != info.dtype or array.shape != info.shape:
            raise c.InvalidArgument(f"{self._side} '{info.name}': {mismatch(array, info)}")
        if not flags.c_contiguous:
            raise c.InvalidArgument(f"{self._side} '{info.name}': got strides {array.strides}, expected a contiguous array: "
                                    "np.ascontiguousarray(x) makes one")
        if self._side == "output" and not flags.writeable:
            raise c.InvalidArgument(f"output '{info.name}': the array may not be written")
        c.check(self._bind(self._session, self._name, _address(array), self._bytes, c.HOST))
        self.array = array

    def _bind_on_device(self, tensor: _OnDevice) -> None:
        info = self._info
        name = f"{self._side} '{info.name}'"
        if self._on_host:
            raise c.InvalidArgument(f"{name} is in a device's memory, and the plan is for the host")
        if tensor.dtype != info.dtype or tensor.shape != info.shape:
            raise c.InvalidArgument(f"{name}: got {tensor.dtype}{list(tensor.shape)}, expected {info.dtype}{list(info.shape)}")
        if not tensor.contiguous:
            raise c.InvalidArgument(f"{name}: expected a contiguous tensor")
        if self._side == "output" and not tensor.writeable:
            raise c.InvalidArgument(f"{name}: the tensor may not be written")
        c.check(self._bind(self._session, self._name, tensor.address, self._bytes, c.DEVICE))


class Session:
    """Run a plan.

    Call the session with one array, or with arrays by name; it returns an array, or a dict by name
    if there are several outputs. Calls of several threads take turns, as do sessions in one arena.
    Sessions of one plan in different arenas run at the same time.

    Parameters
    ----------
    plan : Plan
    arena : array, optional
        The memory to run in: contiguous and writable. By default the session allocates it.
    stream : int, optional
        The caller's stream (cudaStream_t; 0 is the default stream). It must outlive the session.
    """

    def __init__(self, plan: Plan, arena: Optional[Array] = None, stream: Optional[int] = None) -> None:
        self.plan = plan
        self._arena = None if arena is None else _numpy("arena", arena)
        options = c.SessionOptions()
        if self._arena is not None:
            if not (self._arena.flags.c_contiguous and self._arena.flags.writeable):
                raise c.InvalidArgument("arena: expected a contiguous array that may be written")
            options.arena, options.arena_bytes = self._arena.ctypes.data, self._arena.nbytes
        self._has_stream = stream is not None
        if stream is not None:
            options.stream = stream or _DEFAULT_STREAM
        self._handle = c.Handle("session", "plan_session", plan._handle.pointer, ctypes.byref(options))
        self._run, self._pointer = c.LIBRARY.ashlar_run, self._handle.pointer
        on_host = (plan._options.device or b"cpu").startswith(b"cpu")
        self._inputs = [_Slot("input", info, self._pointer, on_host) for info in plan.inputs]
        self._outputs = [_Slot("output", info, self._pointer, on_host) for info in plan.outputs]
        # The thread that started a run, and the result of wait().
        self._started: Optional[Tuple[int, Any, bool]] = None
        self._turns = Turns.of_arena(None if self._arena is None else self._arena.ctypes.data)
        self._one_each = len(self._inputs) == len(self._outputs) == 1

    def __call__(self, inputs: Any = None, out: Any = None, **named: Any) -> Any:
        """Run the plan.

        Parameters
        ----------
        inputs : array or mapping of str to array, optional
            The input, or the inputs by name. Alternatively pass them as keyword arguments.
        out : array or mapping of str to array, optional
            Arrays for the outputs. By default new arrays are allocated.

        Returns
        -------
        array or dict of str to array
            `out` if given; otherwise the output, or the outputs by name if there are several.
        """
        with self._turns:
            self._refuse_between_halves()
            # A faster path for the code below.
            if self._one_each and type(inputs) is np.ndarray and type(out) is np.ndarray:
                source, target = self._inputs[0], self._outputs[0]
                if source.array is not inputs:
                    source.bind(inputs)
                if target.array is not out:
                    target.bind(out)
                c.check(self._run(self._pointer))
                return out
            results = self._bind_all(named if inputs is None else inputs, out)
            c.check(self._run(self._pointer))
            return results if out is not None else self._cut_to_counts(results)

    def start(self, inputs: Any = None, out: Any = None, **named: Any) -> None:
        """Start a run and return; `wait` returns its results.

        Takes the same parameters as a call. Until `wait`, calls of other threads raise `Busy`.
        """
        with self._turns:
            self._refuse_between_halves()
            results = self._bind_all(named if inputs is None else inputs, out)
            c.call("start", self._pointer)
            self._started = threading.get_ident(), results, out is None

    def wait(self) -> Any:
        """Wait for the run that `start` began, and return its results."""
        with self._turns:
            c.call("wait", self._pointer)
            started, self._started = self._started, None
            if started is None:
                return None
            return self._cut_to_counts(started[1]) if started[2] else started[1]

    def __repr__(self) -> str:
        ins, outs = (", ".join(f"{i.name}: {i.dtype}{list(i.shape)}" for i in infos) for infos in (self.plan.inputs, self.plan.outputs))
        return f"Session({ins} -> {outs}; arena={self.plan.memory.arena})"

    def __reduce__(self) -> Any:
        """Pickle the plan; the session is created again when unpickled."""
        if self._arena is not None or self._has_stream:
            raise TypeError("a session in an arena or on a stream of the caller's cannot be pickled; pickle its plan")
        return Session, (self.plan,)

    def _refuse_between_halves(self) -> None:
        if self._started is not None and self._started[0] != threading.get_ident():
            raise c.Busy("another thread has started a run of this session, and wait() has not been called")

    def profile(self, inputs: Any = None, iterations: int = 1, **named: Any) -> List[StepTime]:
        """Run the plan and time each step.

        Parameters
        ----------
        inputs : array or mapping of str to array, optional
            The input, or the inputs by name. Alternatively pass them as keyword arguments.
        iterations : int, default 1
            The number of runs; times are their medians. States pass from run to run.

        Returns
        -------
        list of StepTime
            The steps that run a kernel, in the order of execution.
        """
        if iterations < 1:
            raise c.InvalidArgument(f"iterations is {iterations}; expected 1 or more")
        steps = self.plan.steps
        times, expected = np.empty((iterations, len(steps))), np.empty(len(steps))
        pointer = ctypes.POINTER(ctypes.c_double)
        with self._turns:
            self._refuse_between_halves()
            self._bind_all(named if inputs is None else inputs, None)
            for run in times:
                c.call("session_profile", self._pointer, run.ctypes.data_as(pointer), expected.ctypes.data_as(pointer), len(steps))
        medians = np.median(times, axis=0)
        return [StepTime(step.name, step.type, step.kernel, float(ms), float(most))
                for step, ms, most in zip(steps, medians, expected) if step.kernel]

    def released_input(self, name: Optional[str] = None) -> "np.ndarray[Any, Any]":
        """Return the array in the arena for a donated input (plans with `release_input`).

        Call this and fill the array before every run, because a run overwrites it. An array passed
        to a run instead is copied there.

        Parameters
        ----------
        name : str, optional
            The input; by default the first one.

        Returns
        -------
        numpy.ndarray
        """
        place = ctypes.c_void_p()
        with self._turns:
            c.call("released_input", self._pointer, _encoded(name), ctypes.byref(place))
        infos = self.plan.inputs
        at = next(i for i, info in enumerate(infos) if name in (None, info.name))
        info, slot = infos[at], self._inputs[at]
        if slot.place is None:
            block: Any = (ctypes.c_uint8 * info.bytes).from_address(place.value or 0)
            # Which live as long as the array.
            block.session, block.arena = self._handle, self._arena
            slot.place = np.frombuffer(block, info.dtype).reshape(info.shape)
        slot.array = slot.place
        return slot.place

    def reset(self) -> None:
        """Set all states to their first values."""
        with self._turns:
            c.call("session_reset", self._pointer)

    def read_state(self, name: str) -> "np.ndarray[Any, Any]":
        """Return a copy of a state, by the name of its input."""
        info = next((info for info in self.plan.states if info.name == name), None)
        value = np.empty(info.shape if info else 0, info.dtype if info else np.uint8)
        with self._turns:
            c.call("session_read_state", self._pointer, name.encode(), _address(value), value.nbytes)
        return value

    def write_state(self, name: str, value: Array) -> None:
        """Set a state: an array of its dtype and shape."""
        array = _numpy(f"state '{name}'", value)
        for info in self.plan.states:
            if info.name == name and (array.dtype != info.dtype or array.shape != info.shape):
                raise c.InvalidArgument(f"state '{name}': {mismatch(array, info)}")
        array = np.ascontiguousarray(array)
        with self._turns:
            c.call("session_write_state", self._pointer, name.encode(), _address(array), array.nbytes)

    def wait_event(self, event: int) -> None:
        """Make later runs wait for an event of the caller (cudaEvent_t)."""
        with self._turns:
            c.call("wait_event", self._pointer, event)

    def record_event(self, event: int) -> None:
        """Record an event of the caller (cudaEvent_t) after the runs started so far."""
        with self._turns:
            c.call("record_event", self._pointer, event)

    def _bind_all(self, inputs: Any, out: Any) -> Any:
        """Bind the tensors of a run, and return the result of a call."""
        given = _by_name("input", self.plan.inputs, inputs)
        for info, slot in zip(self.plan.inputs, self._inputs):
            if info.name not in given:
                raise c.NotBound(f"input '{info.name}' is missing")
            if slot.array is not given[info.name]:
                slot.bind(given[info.name])
        wanted = {} if out is None else _by_name("output", self.plan.outputs, out)
        results: Dict[str, Any] = {}
        for info, slot in zip(self.plan.outputs, self._outputs):
            array = wanted.get(info.name)
            if array is None:
                array = np.empty(info.shape, info.dtype)
            slot.bind(array)
            results[info.name] = array
        if out is not None:
            return out
        return next(iter(results.values())) if len(results) == 1 else results

    def _cut_to_counts(self, results: Any) -> Any:
        """Cut results whose sizes depend on data to their counts."""
        for name, count, axis in self.plan._counted:
            results[name] = results[name][(slice(None),) * axis + (slice(int(results[count])),)]
        return results


def shared_arena(*plans: Plan) -> "np.ndarray[Any, Any]":
    """Allocate one arena for sessions that never run at the same time.

    Parameters
    ----------
    *plans : Plan
        The plans of the sessions.

    Returns
    -------
    numpy.ndarray
        As large as the largest arena of the plans.
    """
    if not plans or not all(isinstance(plan, Plan) for plan in plans):
        got = ", ".join(type(plan).__name__ for plan in plans) or "none"
        raise c.InvalidArgument(f"an arena is shared by plans; got {got}")
    memories = [plan.memory for plan in plans]
    return aligned_block(max(m.arena for m in memories), max(m.arena_alignment for m in memories))


def load(source: Union[str, "os.PathLike[str]", bytes, bytearray, memoryview],
         bounds: Optional[Mapping[str, int]] = None, states: Optional[Mapping[str, str]] = None,
         files: Optional[Mapping[str, Array]] = None, values: Optional[Mapping[str, Numbers]] = None) -> Model:
    """Open a model.

    Parameters
    ----------
    source : str, os.PathLike or bytes-like
        The path of a .ash, .onnx or .tflite file, or the contents of one.
    bounds : mapping of str to int, optional
        Of an ONNX model: the most places to plan for, of values whose sizes depend on data, by the
        name of the value or its node. More in a run are an error that names the node.
    states : mapping of str to str, optional
        Inputs that read an output of the run before, by the output: {"h_out": "h_in"}
        (`Model.with_states`).
    files : mapping of str to array, optional
        Of an ONNX model in memory: its external data, by the location that the model has for it.
        The arrays are read in place; those whose values are packed are released then.
    values : mapping of str to float or sequence, optional
        Of an ONNX model: numbers for inputs that become constants, such as a sampling rate:
        {"sr": 16000}.

    Returns
    -------
    Model
    """
    model = Model(source, bounds, files, values)
    return model.with_states(states) if states else model
