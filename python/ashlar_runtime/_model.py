"""Models, plans and sessions. Arrays go in and out at their own addresses: nothing is converted or copied in silence."""
from __future__ import annotations

import ctypes
import json
import operator
import os
import threading
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _library as c
from ._locks import Turns
from ._sizes import LEAST, parse_size
from ._watch import ProgressFunction, watched

if TYPE_CHECKING:
    from ._training import TrainingSession

# By ashlar_dtype; bfloat16 has no numpy dtype of its own and goes as its bits.
DTYPES: Dict[int, "np.dtype[Any]"] = {
    0: np.dtype("float32"), 1: np.dtype("float16"), 2: np.dtype("uint16"), 3: np.dtype("int64"), 4: np.dtype("int32"),
    5: np.dtype("int8"), 6: np.dtype("uint8"), 8: np.dtype("bool"), 9: np.dtype("float64")
}
_BYTES_ALIGNMENT = 64  # of a model in memory
_DEFAULT_STREAM = 1  # cudaStreamLegacy; 0, its other name, is none to the library
PROOFS = ("gap", "optimal", "optimal by search")
BUFFER_DTYPE = np.dtype([("id", "i8"), ("lower", "i8"), ("upper", "i8"), ("size", "i8"), ("alignment", "i8"),
                         ("offset", "i8"), ("inside", "i8"), ("inside_offset", "i8"), ("name", "O")])

Array = Any  # a numpy array, what has __dlpack__ on the host, or __cuda_array_interface__ on a device


class TensorInfo(NamedTuple):
    name: str
    dtype: "np.dtype[Any]"
    shape: Tuple[int, ...]
    bytes: int


class Memory(NamedTuple):
    """Bytes."""
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
    weights_shared: int  # of the weights: held by plans that this one shares with
    state: int  # of a training
    released_input: int  # of the arena: taken, before a run, by inputs that are given up


class Measured(NamedTuple):
    """Bytes up to the highest one that runs wrote; weights -1 where they were packed before."""
    arena: int
    weights: int
    output: int
    heap_calls: int
    ok: bool


class StepInfo(NamedTuple):
    name: str
    type: str
    kernel: str
    live_bytes: int
    scratch_bytes: int


def _text(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


def _encoded(value: Optional[str]) -> Optional[bytes]:
    return None if value is None else value.encode()


class _OnDevice:
    """A tensor in a device's memory, as its __cuda_array_interface__ says."""
    __slots__ = ("source", "dtype", "shape", "address", "contiguous", "writeable")

    def __init__(self, source: Array) -> None:
        says = source.__cuda_array_interface__
        self.source = source  # which stays alive
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
    raise c.InvalidArgument(f"{name}: {type(array).__name__} is no numpy array and has no __dlpack__")


def _address(array: "np.ndarray[Any, Any]") -> int:
    """Of a contiguous array; ndarray.ctypes takes several times as long."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))  # type: ignore[arg-type,unused-ignore]
    except (TypeError, ValueError):  # it may not be written, or is empty
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
    """What is wrong with an array, and what mends it."""
    text = f"got {array.dtype}{list(array.shape)}, expected {info.dtype}{list(info.shape)}"
    if array.shape == info.shape:
        return f"{text}: x.astype('{info.dtype}') converts"
    if len(info.shape) == 4 and array.shape == tuple(info.shape[axis] for axis in (0, 2, 3, 1)):
        return f"{text}: channels are last, np.ascontiguousarray(x.transpose(0, 3, 1, 2)) moves them"
    if len(info.shape) == 4 and array.shape == tuple(info.shape[axis] for axis in (0, 3, 1, 2)):
        return f"{text}: channels are first, np.ascontiguousarray(x.transpose(0, 2, 3, 1)) moves them"
    return text


def as_inputs(infos: List[TensorInfo], given: Any) -> Dict[str, "np.ndarray[Any, Any]"]:
    """One array, or arrays by name, as numpy arrays at the same addresses."""
    return {name: _numpy(f"input '{name}'", array) for name, array in _by_name("input", infos, given).items()}


def aligned_block(size: int, alignment: int) -> "np.ndarray[Any, Any]":
    """Bytes at a multiple of `alignment`: an arena, say. At least one, because an empty array has no address of its own."""
    block = np.empty(size + alignment, np.uint8)
    begin = -block.ctypes.data % alignment
    return block[begin:begin + max(size, 1)]


def _copied(source: Union[bytes, bytearray, memoryview]) -> "np.ndarray[Any, Any]":
    """In memory that the library can read a model from."""
    size = memoryview(source).nbytes
    block = aligned_block(size, _BYTES_ALIGNMENT)[:size]
    if size:
        block[:] = np.frombuffer(source, np.uint8)
    return block


def _list(name: str, handle: c.Handle, kind: Any) -> List[Any]:
    first, count = ctypes.POINTER(kind)(), ctypes.c_size_t()
    c.call(name, handle.pointer, ctypes.byref(first), ctypes.byref(count))
    return first[:count.value] if count.value else []


def _info(tensor: Any) -> TensorInfo:
    return TensorInfo(_text(tensor.name), DTYPES[tensor.dtype], tuple(tensor.shape[:tensor.rank]), tensor.bytes)


def _memory(memory: c.Memory) -> Memory:
    return Memory(memory.arena, memory.arena_alignment, memory.input, memory.output, memory.weights, memory.weights_in_file,
                  memory.lower_bound, PROOFS[memory.proof], memory.bottleneck_step, memory.predicted_ms,
                  memory.weights_shared, memory.state, memory.released_input)


def _plan_options(budget: Union[int, str, None] = None, threads: int = 0,
                  shapes: Optional[Mapping[str, Union[str, Sequence[int]]]] = None, prefer: str = "speed", exact: bool = False,
                  max_extra_flops: Optional[float] = None, tile: Optional[str] = None, device: Optional[str] = None,
                  precision: Optional[str] = None, kernel_record: Optional[str] = None,
                  release_input: bool = False, time_limit: float = 0) -> c.PlanOptions:
    if prefer not in ("speed", "memory"):
        raise c.InvalidArgument(f"prefer is {prefer!r}; expected 'speed' or 'memory'")
    if shapes is not None and not isinstance(shapes, Mapping):
        raise c.InvalidArgument(f"shapes is {shapes!r}; expected a dict, such as {{'data': (1, 3, 224, 224)}}")
    given = {name: _shape(name, shape) for name, shape in (shapes or {}).items()}
    array = (c.Shape * max(len(given), 1))()
    for entry, (name, shape) in zip(array, given.items()):
        if len(shape) > c.MAX_RANK:
            raise c.InvalidArgument(f"{name}: a shape of {len(shape)} dimensions; at most {c.MAX_RANK}")
        entry.input, entry.rank = name.encode(), len(shape)
        entry.shape[:len(shape)] = shape
    if budget is not None and not (budget_bytes := parse_size(budget, "budget")) >= LEAST:
        raise c.InvalidArgument(f"budget is {budget!r}; expected bytes, a size such as '512KiB', 'min' or None")
    return c.PlanOptions(
        threads=threads, prefer_memory=int(prefer == "memory"), exact=int(exact),
        memory_budget=0 if budget is None else budget_bytes,
        max_extra_flops=0.0 if max_extra_flops is None else (max_extra_flops or -1.0), device=_encoded(device),
        tile=_encoded(tile), precision=_encoded(precision), kernel_record=_encoded(kernel_record), shapes=array,
        num_shapes=len(given), release_input=int(release_input), time_limit=time_limit)


def _shape(name: str, shape: Union[str, Sequence[int]]) -> List[int]:
    """(1, 3, 224, 224), or "1x3x224x224" as the command takes it."""
    try:
        if isinstance(shape, str):
            return [int(size) for size in shape.split("x")]
        return [operator.index(size) for size in shape]
    except (TypeError, ValueError):
        raise c.InvalidArgument(f"the shape of '{name}' is {shape!r}; expected integers, such as (1, 3, 224, 224) or "
                                "'1x3x224x224'") from None


class Model:
    """A model file, .ash or .onnx, which is mapped and must not shrink meanwhile; or the bytes of one."""
    _handle: c.Handle
    _parts: "Tuple[Model, ...]" = ()  # of a pipeline, whose bytes it reads

    def __init__(self, source: Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]) -> None:
        if isinstance(source, (bytes, bytearray, memoryview)):
            self.path = ""
            self._bytes = _copied(source)  # which everything that is made of the model keeps alive
            self._handle = c.Handle("model", "model_open_bytes", self._bytes.ctypes.data, self._bytes.nbytes)
        else:
            self.path = os.fspath(source)
            try:
                self._handle = c.Handle("model", "model_open", os.fsencode(self.path))
            except c.RejectedFile as error:
                if os.path.exists(self.path):
                    raise
                raise c.MissingFile(str(error)) from None
        self._opened_as: Tuple[Any, ...] = (Model, (source,))  # for pickle

    @property
    def inputs(self) -> List[TensorInfo]:
        """As the file has them, before a plan: dimensions that are open are -1, and `bytes` is then 0."""
        return [_info(t) for t in _list("model_inputs", self._handle, c.Tensor)]

    @property
    def outputs(self) -> List[TensorInfo]:
        """As `inputs`; without shapes of the inputs all dimensions that follow from them are -1."""
        return [_info(t) for t in _list("model_outputs", self._handle, c.Tensor)]

    def __repr__(self) -> str:
        return f"Model({self.path!r})" if self.path else "Model(bytes)"

    def __reduce__(self) -> Any:
        """Pickled as its path, or bytes, it is opened again where it is read."""
        return self._opened_as

    def then(self, following: "Model") -> "Model":
        """This model and behind it another, as one: inputs of the other read the outputs that have their names, or the
        only one reads the only one."""
        if not isinstance(following, Model):
            raise c.InvalidArgument(f"{type(following).__name__} follows a model; expected a Model")
        joined = Model.__new__(Model)
        joined.path = f"{self.path} then {following.path}"
        joined._parts = self, following
        joined._opened_as = Model.then, (self, following)
        joined._handle = c.Handle("model", "model_join", self._handle.pointer, following._handle.pointer)
        return joined

    def plan(self, budget: Union[int, str, None] = None, threads: int = 0,
             shapes: Optional[Mapping[str, Union[str, Sequence[int]]]] = None, prefer: str = "speed", exact: bool = False,
             max_extra_flops: Optional[float] = None, tile: Optional[str] = None, device: Optional[str] = None,
             precision: Optional[str] = None, kernel_record: Optional[str] = None, share: Optional["Plan"] = None,
             release_input: bool = False, time_limit: float = 0, progress: Optional[ProgressFunction] = None) -> "Plan":
        """What a run will take, to the byte; takes no memory for it. `budget` is of the arena: bytes, "3.3MB" or "min".
        `share` is a plan without sessions yet: weights that both want alike are held once. With `release_input` the inputs
        are given up: they lie in the arena (Session.released_input), and rows that were read make room there. `shapes` are by
        input: (1, 3, 224, 224) or "1x3x224x224". OutOfTime is raised if planning takes more than `time_limit` seconds (0: any),
        because no plan may depend on the clock. `progress` is called with a Progress about twenty times a second; what it raises
        ends planning, as Ctrl-C does."""
        options = {"budget": budget, "threads": threads, "shapes": shapes, "prefer": prefer, "exact": exact,
                   "max_extra_flops": max_extra_flops, "tile": tile, "device": device, "precision": precision,
                   "kernel_record": kernel_record, "release_input": release_input}
        return Plan(self, options, share, time_limit, progress)

    def pack(self, path: Union[str, "os.PathLike[str]"], plan: "Plan") -> None:
        """Writes the model to a .ash file with its weights as a plan of it wants them. Plans of that file with the same options,
        whatever their threads, use them where they lie: processes share them as pages of the file."""
        watched(plan._options, lambda: c.call("model_pack", self._handle.pointer, ctypes.byref(plan._options), os.fsencode(path)))

    def train(self, **options: Any) -> "TrainingSession":
        """A training of the model: the options of TrainingSession, and those of plan() for a step of it."""
        from ._training import TrainingSession
        return TrainingSession(self, **options)

    def compile(self, arena: Optional[Array] = None, stream: Optional[int] = None, **plan: Any) -> "Session":
        """plan(...) and a session of it, in an arena and on a stream of the caller's if they are given."""
        return self.plan(**plan).session(arena, stream)


class Plan:
    """Everything that is decided before memory is touched."""
    _handle: c.Handle

    def __init__(self, model: Model, options: Dict[str, Any], share: Optional["Plan"] = None, time_limit: float = 0,
                 progress: Optional[ProgressFunction] = None) -> None:
        self._model, self._given, self._shares = model, options, share is not None
        self._options = _plan_options(**options, time_limit=time_limit)
        self._options.share = None if share is None else share._handle.pointer
        self._handle = watched(
            self._options, lambda: c.Handle("plan", "model_plan", model._handle.pointer, ctypes.byref(self._options)), progress)
        self._options.time_limit = 0  # pack() has the others
        memory = c.Memory()
        c.call("plan_memory", self._handle.pointer, ctypes.byref(memory))
        self.memory = _memory(memory)
        self.inputs = [_info(t) for t in _list("plan_inputs", self._handle, c.Tensor)]
        self.outputs = [_info(t) for t in _list("plan_outputs", self._handle, c.Tensor)]

    @property
    def steps(self) -> List[StepInfo]:
        return [StepInfo(_text(s.name), _text(s.type), _text(s.kernel), s.live_bytes, s.scratch_bytes)
                for s in _list("plan_steps", self._handle, c.Step)]

    @property
    def buffers(self) -> "np.ndarray[Any, Any]":
        """One row a buffer: lifetime [lower, upper) in steps, size and offset in bytes, what it lies inside of."""
        rows = [(b.id, b.lower, b.upper, b.size, b.alignment, b.offset, b.inside, b.inside_offset, _text(b.name))
                for b in _list("plan_buffers", self._handle, c.Buffer)]
        return np.array(rows, dtype=BUFFER_DTYPE)

    def export(self, format: str) -> str:
        """"svg", "csv", "html" or "json", as the command writes them."""
        parts: List[bytes] = []

        def write(_: Any, data: int, size: int) -> int:
            parts.append(ctypes.string_at(data, size))
            return 0

        c.call("plan_export", self._handle.pointer, format.encode(), c.WRITE(write), None)
        return b"".join(parts).decode("utf-8", "replace")

    def svg(self) -> str:
        return self.export("svg")

    def html(self) -> str:
        """A page of its own that shows the plan; it asks for nothing else."""
        return self.export("html")

    def json(self) -> Any:
        """What that page shows: plan_document in docs/json.schema.json."""
        return json.loads(self.export("json"))

    def _repr_html_(self) -> str:
        return self.svg()

    def load(self) -> None:
        """Packs the weights now; else the first session does."""
        c.call("plan_load", self._handle.pointer)

    def verify(self) -> Measured:
        """Runs the plan in memory with patterns, and says how far it was written."""
        measured = c.Measured()
        c.call("plan_verify", self._handle.pointer, ctypes.byref(measured))
        return Measured(measured.arena, measured.weights, measured.output, measured.heap_calls, bool(measured.ok))

    def session(self, arena: Optional[Array] = None, stream: Optional[int] = None) -> "Session":
        return Session(self, arena, stream)

    def __repr__(self) -> str:
        m = self.memory
        return f"Plan(arena={m.arena}, weights={m.weights}, lower_bound={m.lower_bound}, proof={m.proof!r})"

    def __reduce__(self) -> Any:
        """Pickled as its model and options, it is planned again where it is read."""
        if self._shares:
            raise TypeError("a plan that shares weights cannot be pickled, because what it shares is this process's memory")
        return Plan, (self._model, self._given)


class _Slot:
    """A tensor of a session, and the array that is bound there, which stays alive."""
    __slots__ = ("array", "place", "_bind", "_bytes", "_info", "_name", "_on_host", "_session", "_side")

    def __init__(self, side: str, info: TensorInfo, session: ctypes.c_void_p, on_host: bool) -> None:
        self.array: Optional[_Tensor] = None
        self.place: "Optional[np.ndarray[Any, Any]]" = None  # of an input that is given up
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
    """Runs a plan. One array in, one out, else dicts by name. Calls of several threads take turns, also with the sessions that have
    the same arena; sessions of one plan run side by side. `stream` is the caller's, as a number (cudaStream_t; 0 is the default
    one), which must outlive the session."""

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
        self._started: Optional[Tuple[int, Any]] = None  # the thread that started a run, and what wait() returns
        self._turns = Turns.of_arena(None if self._arena is None else self._arena.ctypes.data)
        self._one_each = len(self._inputs) == len(self._outputs) == 1

    def __call__(self, inputs: Any = None, out: Any = None, **named: Any) -> Any:
        with self._turns:
            self._refuse_between_halves()
            if self._one_each and type(inputs) is np.ndarray and type(out) is np.ndarray:  # as below, in less time
                source, target = self._inputs[0], self._outputs[0]
                if source.array is not inputs:
                    source.bind(inputs)
                if target.array is not out:
                    target.bind(out)
                c.check(self._run(self._pointer))
                return out
            results = self._bind_all(named if inputs is None else inputs, out)
            c.check(self._run(self._pointer))
            return results

    def start(self, inputs: Any = None, out: Any = None, **named: Any) -> None:
        """The first half of a call, after which the host may do other things; wait() returns what the call would. In between, calls
        of other threads raise Busy."""
        with self._turns:
            self._refuse_between_halves()
            results = self._bind_all(named if inputs is None else inputs, out)
            c.call("start", self._pointer)
            self._started = threading.get_ident(), results

    def wait(self) -> Any:
        with self._turns:
            c.call("wait", self._pointer)
            started, self._started = self._started, None
            return None if started is None else started[1]

    def __repr__(self) -> str:
        ins, outs = (", ".join(f"{i.name}: {i.dtype}{list(i.shape)}" for i in infos) for infos in (self.plan.inputs, self.plan.outputs))
        return f"Session({ins} -> {outs}; arena={self.plan.memory.arena})"

    def __reduce__(self) -> Any:
        """Pickled as its plan, it is made again where it is read."""
        if self._arena is not None or self._has_stream:
            raise TypeError("a session in an arena or on a stream of the caller's cannot be pickled; pickle its plan")
        return Session, (self.plan,)

    def _refuse_between_halves(self) -> None:
        if self._started is not None and self._started[0] != threading.get_ident():
            raise c.Busy("another thread has started a run of this session, and wait() has not been called")

    def released_input(self, name: Optional[str] = None) -> "np.ndarray[Any, Any]":
        """Of a plan with `release_input`: the array in the arena where an input is to be written. A run leaves nothing of it, so
        this is to be called before every run; arrays that are given to a run instead are copied there."""
        place = ctypes.c_void_p()
        with self._turns:
            c.call("released_input", self._pointer, _encoded(name), ctypes.byref(place))
        infos = self.plan.inputs
        at = next(i for i, info in enumerate(infos) if name in (None, info.name))
        info, slot = infos[at], self._inputs[at]
        if slot.place is None:
            block: Any = (ctypes.c_uint8 * info.bytes).from_address(place.value or 0)
            block.session, block.arena = self._handle, self._arena  # which stay alive as long as the array
            slot.place = np.frombuffer(block, info.dtype).reshape(info.shape)
        slot.array = slot.place
        return slot.place

    def wait_event(self, event: int) -> None:
        """Runs started from now on begin after an event of the caller's (cudaEvent_t)."""
        with self._turns:
            c.call("wait_event", self._pointer, event)

    def record_event(self, event: int) -> None:
        """Records an event of the caller's behind the runs that were started."""
        with self._turns:
            c.call("record_event", self._pointer, event)

    def _bind_all(self, inputs: Any, out: Any) -> Any:
        """Binds the tensors of a run, and returns what a call returns."""
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


def shared_arena(*plans: Plan) -> "np.ndarray[Any, Any]":
    """One arena for sessions of these plans, no two of which may run at once: as large as the largest of theirs."""
    if not plans or not all(isinstance(plan, Plan) for plan in plans):
        got = ", ".join(type(plan).__name__ for plan in plans) or "none"
        raise c.InvalidArgument(f"an arena is shared by plans; got {got}")
    memories = [plan.memory for plan in plans]
    return aligned_block(max(m.arena for m in memories), max(m.arena_alignment for m in memories))


def load(source: Union[str, "os.PathLike[str]", bytes, bytearray, memoryview]) -> Model:
    """A model from a file, .ash or .onnx, or from the bytes of one."""
    return Model(source)
