"""Plans a model's memory to the byte, then runs it there.

    import ashlar_runtime as ashlar
    run = ashlar.load("mobilenet.ash").compile(budget="512KiB")
    y = run(x)                       # numpy in, numpy out; anything with __dlpack__ on the host goes in
    run.plan.memory.arena            # bytes, known before the first run
"""
from ._buckets import Buckets
from ._family import Choice, Family
from ._library import (Busy, Cancelled, DoesNotFit, Error, Internal, InvalidArgument, MissingFile, NotBound, OutOfTime,
                       RejectedFile, Unavailable, Unsupported, lock_code, version)
from ._model import Model, Plan, Session, StepTime, load, shared_arena
from ._pinned import Pinned
from ._planner import Solution, plan_memory
from ._sizes import parse_size
from ._tensors import TensorInfo
from ._training import TrainingSession
from ._watch import Progress

__version__ = version()

__all__ = [
    "Buckets", "Busy", "Cancelled", "Choice", "DoesNotFit", "Error", "Family", "Internal", "InvalidArgument", "MissingFile", "Model", "NotBound",
    "OutOfTime", "Pinned", "Plan", "Progress", "RejectedFile", "Session", "Solution", "StepTime", "TensorInfo", "TrainingSession", "Unavailable", "Unsupported", "load", "lock_code", "parse_size", "plan_memory", "shared_arena"
]
