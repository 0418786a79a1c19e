"""The C interface of libashlar.so.1 (<ashlar/ashlar.h>) for ctypes: structs, functions, errors."""
from __future__ import annotations

import ctypes
import logging
import pathlib
from ctypes import POINTER, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from typing import Any, Dict, List, Type

MAX_RANK = 8
HOST, DEVICE = 0, 1


class Error(Exception):
    """An error of the library. `bytes` of a DoesNotFit is the smallest sufficient size."""

    def __init__(self, message: str, bytes: int = 0) -> None:
        super().__init__(message)
        self.bytes = bytes


class InvalidArgument(Error, ValueError):
    """The model does not have this option, name, shape or dtype."""


class DoesNotFit(Error, MemoryError):
    """The plan does not fit into the budget or into the memory of the machine.

    `smallest` bytes would suffice; 0 if that is not known.
    """

    @property
    def smallest(self) -> int:
        return self.bytes


class RejectedFile(Error, ValueError):
    """The file cannot be read, is damaged, or is of another kind."""


class MissingFile(RejectedFile, FileNotFoundError):
    """The file does not exist."""


class Unsupported(Error, NotImplementedError):
    """There is no kernel for an operator, dtype or shape."""


class Unavailable(Error, RuntimeError):
    """A device, or its library, is not available."""


class NotBound(Error, RuntimeError):
    """A run was started without all inputs and outputs."""


class Internal(Error, RuntimeError):
    """A defect of the library."""


class Busy(Error, RuntimeError):
    """Another thread is using the session, training or arena."""


class Cancelled(Error, RuntimeError):
    """The caller cancelled planning."""


class OutOfTime(Error, TimeoutError):
    """Planning took longer than its `time_limit`."""


ERRORS: List[Type[Error]] = [
    Error, InvalidArgument, DoesNotFit, RejectedFile, Unsupported, Unavailable, NotBound, Internal, Busy,
    Cancelled, OutOfTime
]


class Tensor(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("dtype", c_int32), ("rank", c_int32), ("shape", c_int64 * MAX_RANK),
                ("bytes", c_int64)]


class Shape(ctypes.Structure):
    _fields_ = [("input", c_char_p), ("rank", c_int32), ("shape", c_int64 * MAX_RANK)]


class Sized(ctypes.Structure):
    """A struct whose first field is its size."""

    def __init__(self, **fields: Any) -> None:
        super().__init__(size=ctypes.sizeof(type(self)), **fields)


class Bound(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("most", c_int64)]


RELEASE = ctypes.CFUNCTYPE(None, c_void_p)


class File(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("bytes", c_void_p), ("bytes_size", c_size_t), ("release", RELEASE), ("context", c_void_p)]


class InputValue(ctypes.Structure):
    _fields_ = [("input", c_char_p), ("numbers", POINTER(c_double)), ("num_numbers", c_size_t)]


class OpenOptions(Sized):
    _fields_ = [("size", c_size_t), ("bounds", POINTER(Bound)), ("num_bounds", c_size_t), ("files", POINTER(File)),
                ("num_files", c_size_t), ("values", POINTER(InputValue)), ("num_values", c_size_t)]


class Progress(Sized):
    _fields_ = [("size", c_size_t), ("seconds", c_double), ("plans", c_int64), ("least_arena", c_int64)]


PROGRESS = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(Progress))


class PlanOptions(Sized):
    _fields_ = [("size", c_size_t), ("threads", c_int32), ("prefer_memory", c_int32), ("exact", c_int32),
                ("memory_budget", c_int64), ("max_extra_flops", c_double), ("device", c_char_p), ("tile", c_char_p),
                ("precision", c_char_p), ("kernel_record", c_char_p), ("shapes", POINTER(Shape)),
                ("num_shapes", c_size_t), ("share", c_void_p), ("release_input", c_int32), ("time_limit", c_double),
                ("progress", PROGRESS), ("progress_context", c_void_p), ("passes", c_char_p),
                ("more", c_char_p), ("plan_file", c_char_p)]


class Memory(Sized):
    _fields_ = [("size", c_size_t), ("arena", c_int64), ("arena_alignment", c_int64), ("input", c_int64),
                ("output", c_int64), ("weights", c_int64), ("weights_in_file", c_int64), ("lower_bound", c_int64),
                ("proof", c_int32), ("bottleneck_step", c_int32), ("predicted_ms", c_double),
                ("weights_shared", c_int64), ("state", c_int64), ("released_input", c_int64), ("total", c_int64),
                ("total_without_budget", c_int64)]


class Choices(Sized):
    _fields_ = [("size", c_size_t), ("tile", c_char_p), ("passes", c_char_p), ("prefer_memory", c_int32),
                ("more", c_char_p)]


class Counted(ctypes.Structure):
    _fields_ = [("output", c_int32), ("count", c_int32), ("axis", c_int32)]


class Buffer(ctypes.Structure):
    _fields_ = [("id", c_int64), ("lower", c_int64), ("upper", c_int64), ("size", c_int64), ("alignment", c_int64),
                ("offset", c_int64), ("inside", c_int64), ("inside_offset", c_int64), ("name", c_char_p)]


class Step(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("type", c_char_p), ("kernel", c_char_p), ("live_bytes", c_int64),
                ("scratch_bytes", c_int64)]


class SessionOptions(Sized):
    _fields_ = [("size", c_size_t), ("arena", c_void_p), ("arena_bytes", c_size_t), ("stream", c_void_p)]


class Measured(Sized):
    _fields_ = [("size", c_size_t), ("arena", c_int64), ("weights", c_int64), ("output", c_int64),
                ("heap_calls", c_int64), ("ok", c_int32)]


class TrainingOptions(Sized):
    _fields_ = [("size", c_size_t), ("plan", POINTER(PlanOptions)), ("optimizer", c_int32), ("loss", c_int32),
                ("momentum", c_double), ("weight_decay", c_double), ("nesterov", c_int32),
                ("frozen_batch_norm", c_int32), ("freeze", c_char_p), ("classes", c_int64), ("seed", c_uint64)]


class SolveOptions(Sized):
    _fields_ = [("size", c_size_t), ("work_ms", c_int64), ("capacity", c_int64), ("planner", c_char_p), ("time_limit", c_double),
                ("progress", PROGRESS), ("progress_context", c_void_p)]


class Solution(Sized):
    _fields_ = [("size", c_size_t), ("arena", c_int64), ("lower_bound", c_int64), ("proof", c_int32)]


WRITE = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t)
LOG = ctypes.CFUNCTYPE(None, c_void_p, c_char_p)

# The functions that return a status, by name without "ashlar_".
SIGNATURES: Dict[str, List[Any]] = {
    "model_open": [c_char_p, POINTER(c_void_p)],
    "model_open_bytes": [c_void_p, c_size_t, POINTER(c_void_p)],
    "model_open_with": [c_char_p, POINTER(OpenOptions), POINTER(c_void_p)],
    "model_open_bytes_with": [c_void_p, c_size_t, POINTER(OpenOptions), POINTER(c_void_p)],
    "model_inputs": [c_void_p, POINTER(POINTER(Tensor)), POINTER(c_size_t)],
    "model_outputs": [c_void_p, POINTER(POINTER(Tensor)), POINTER(c_size_t)],
    "model_join": [c_void_p, c_void_p, POINTER(c_void_p)],
    "model_with_pixels": [c_void_p, c_char_p, POINTER(Shape), c_size_t, POINTER(c_void_p)],
    "model_plan": [c_void_p, POINTER(PlanOptions), POINTER(c_void_p)],
    "model_pack": [c_void_p, POINTER(PlanOptions), c_char_p],
    "plan_save": [c_void_p, c_void_p, c_char_p],
    "plan_memory": [c_void_p, POINTER(Memory)],
    "plan_choices": [c_void_p, POINTER(Choices)],
    "plan_inputs": [c_void_p, POINTER(POINTER(Tensor)), POINTER(c_size_t)],
    "plan_outputs": [c_void_p, POINTER(POINTER(Tensor)), POINTER(c_size_t)],
    "plan_counted": [c_void_p, POINTER(POINTER(Counted)), POINTER(c_size_t)],
    "plan_buffers": [c_void_p, POINTER(POINTER(Buffer)), POINTER(c_size_t)],
    "plan_steps": [c_void_p, POINTER(POINTER(Step)), POINTER(c_size_t)],
    "plan_export": [c_void_p, c_char_p, WRITE, c_void_p],
    "plan_load": [c_void_p],
    "model_with_channels_last": [c_void_p, POINTER(Shape), c_size_t, POINTER(c_void_p)],
    "model_with_states": [c_void_p, c_char_p, POINTER(Shape), c_size_t, POINTER(c_void_p)],
    "plan_states": [c_void_p, POINTER(POINTER(Tensor)), POINTER(c_size_t)],
    "session_profile": [c_void_p, POINTER(c_double), POINTER(c_double), c_size_t],
    "session_reset": [c_void_p],
    "session_read_state": [c_void_p, c_char_p, c_void_p, c_size_t],
    "session_write_state": [c_void_p, c_char_p, c_void_p, c_size_t],
    "model_family": [c_void_p, c_char_p, POINTER(PlanOptions), POINTER(c_void_p)],
    "family_plans": [c_void_p, POINTER(POINTER(c_void_p)), POINTER(c_size_t)],
    "family_memory": [c_void_p, POINTER(Memory)],
    "family_point": [c_void_p, POINTER(Shape), c_size_t, c_int32, POINTER(c_size_t)],
    "plan_session": [c_void_p, POINTER(SessionOptions), POINTER(c_void_p)],
    "plan_verify": [c_void_p, POINTER(Measured)],
    "bind_input": [c_void_p, c_char_p, c_void_p, c_size_t, c_int],
    "bind_output": [c_void_p, c_char_p, c_void_p, c_size_t, c_int],
    "released_input": [c_void_p, c_char_p, POINTER(c_void_p)],
    "run": [c_void_p],
    "start": [c_void_p],
    "wait": [c_void_p],
    "wait_event": [c_void_p, c_void_p],
    "record_event": [c_void_p, c_void_p],
    "pin": [c_char_p, c_void_p, c_size_t],
    "unpin": [c_char_p, c_void_p],
    "model_train": [c_void_p, POINTER(TrainingOptions), POINTER(c_void_p)],
    "training_memory": [c_void_p, POINTER(Memory)],
    "training_inputs": [c_void_p, POINTER(POINTER(Tensor)), POINTER(c_size_t)],
    "training_outputs": [c_void_p, POINTER(POINTER(Tensor)), POINTER(c_size_t)],
    "training_states": [c_void_p, POINTER(POINTER(Tensor)), POINTER(c_size_t)],
    "training_step": [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t, c_double, POINTER(c_float)],
    "training_evaluate": [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t],
    "training_read": [c_void_p, c_char_p, c_void_p, c_size_t],
    "training_write": [c_void_p, c_char_p, c_void_p, c_size_t],
    "training_steps": [c_void_p, POINTER(c_int64)],
    "training_checkpoint": [c_void_p, c_char_p],
    "training_resume": [c_void_p, c_char_p],
    "training_save": [c_void_p, c_char_p],
    "lock_code": [c_int32],
    "solve": [POINTER(Buffer), c_size_t, POINTER(SolveOptions), POINTER(Solution)],
}


def _open() -> ctypes.CDLL:
    """Open the library: the file next to this one, as in wheels, otherwise by the system's search
    path.
    """
    beside = pathlib.Path(__file__).with_name("libashlar.so.1")
    try:
        library = ctypes.CDLL(str(beside) if beside.exists() else "libashlar.so.1")
    except OSError as error:
        raise ImportError(f"{error}; install the package libashlar1, or set LD_LIBRARY_PATH to its folder") from error
    for name, arguments in SIGNATURES.items():
        function = getattr(library, "ashlar_" + name)
        function.argtypes, function.restype = arguments, c_int
    for name in ("family", "model", "plan", "session", "training"):
        release = getattr(library, f"ashlar_{name}_release")
        release.argtypes, release.restype = [c_void_p], None
    library.ashlar_set_log.argtypes, library.ashlar_set_log.restype = [LOG, c_void_p], None
    library.ashlar_error_message.restype = c_char_p
    library.ashlar_model_note.argtypes, library.ashlar_model_note.restype = [c_void_p, c_size_t], c_char_p
    library.ashlar_plan_option_name.argtypes, library.ashlar_plan_option_name.restype = [c_size_t], c_char_p
    library.ashlar_error_bytes.restype = c_int64
    library.ashlar_version.restype = c_int
    return library


LIBRARY = _open()
LOGGER = logging.getLogger("ashlar_runtime")
LOGGER.addHandler(logging.NullHandler())


def _log(_: Any, line: bytes) -> None:
    LOGGER.info("%s", line.decode("utf-8", "replace"))


_LOG = LOG(_log)  # must live as long as the library
LIBRARY.ashlar_set_log(_LOG, None)


def plan_option_names() -> List[str]:
    """Return the names of the planning options that `PlanOptions.more` takes."""
    names: List[str] = []
    while name := LIBRARY.ashlar_plan_option_name(len(names)):
        names.append(name.decode().replace("-", "_"))
    return names


def lock_code(everything: bool = False) -> None:
    """Drop the pages of the library's code from memory, and lock the ones that are used again, as they
    return. For processes in a memory control group that streamed weights nearly fill: otherwise the
    group drops code in each run, and reads it again. Call it after planning, before the first run.

    Parameters
    ----------
    everything : bool, default False
        The same for the interpreter and all libraries of the process.

    Raises
    ------
    Unavailable
        The process may not lock all of it (`ulimit -l`); the rest is used as before.
    """
    call("lock_code", int(everything))


def version() -> str:
    """Return the version of the library, such as "1.0.0"."""
    number = LIBRARY.ashlar_version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def check(status: int) -> None:
    """Raise the error that a status stands for."""
    if status != 0:
        message = LIBRARY.ashlar_error_message().decode("utf-8", "replace")
        raise (ERRORS[status] if status < len(ERRORS) else Internal)(message, LIBRARY.ashlar_error_bytes())


def call(name: str, *arguments: Any) -> None:
    """Call a function that returns a status."""
    check(getattr(LIBRARY, "ashlar_" + name)(*arguments))


class Handle:
    """A handle of the library, released with this object."""

    def __init__(self, kind: str, name: str, *arguments: Any) -> None:
        self.pointer = c_void_p()
        self._release = getattr(LIBRARY, f"ashlar_{kind}_release")
        call(name, *arguments, ctypes.byref(self.pointer))

    @classmethod
    def borrowed(cls, owner: "Handle", address: int) -> "Handle":
        """Return a handle of an object that belongs to another one, which it keeps alive."""
        handle = cls.__new__(cls)
        handle.pointer, handle._release = c_void_p(address), lambda _: owner and None
        return handle

    def __del__(self) -> None:
        if getattr(self, "pointer", None):
            self._release(self.pointer)
            self.pointer = c_void_p()
