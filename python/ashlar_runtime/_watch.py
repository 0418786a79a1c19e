"""Planning that can be observed and interrupted: Ctrl-C, a progress function, a time limit."""
from __future__ import annotations

import threading
from typing import Any, Callable, Generic, NamedTuple, Optional, TypeVar, Union

from . import _library as c

T = TypeVar("T")
_BETWEEN = 0.05  # seconds between two looks at the planner, and for it to end after cancelling


class Progress(NamedTuple):
    """The progress of planning so far."""
    seconds: float
    plans: int  # made so far; a search under a budget makes many
    least_arena: int  # bytes, the smallest of these plans; 0: no plan yet


ProgressFunction = Callable[[Progress], object]


class _Job(Generic[T]):
    """A call in a thread of its own."""

    def __init__(self, options: Union[c.PlanOptions, c.SolveOptions], call: Callable[[], T]) -> None:
        self.latest: Optional[Progress] = None
        self.done = threading.Event()
        self.result: Optional[T] = None
        self.error: Optional[BaseException] = None
        self.cancelled = False
        self._report = c.PROGRESS(self._look)  # must live as long as the thread
        self._call, self._options = call, options
        threading.Thread(target=self._work, name="ashlar planning").start()

    def _look(self, _: Any, now: Any) -> int:
        self.latest = Progress(now.contents.seconds, now.contents.plans, now.contents.least_arena)
        return int(self.cancelled)

    def _work(self) -> None:
        self._options.progress = self._report
        try:
            self.result = self._call()
        except BaseException as error:  # raised by the waiting thread
            self.error = error
        finally:
            self._options.progress = c.PROGRESS()
            del self._call  # _report holds this job until the next collection, but not the model
            self.done.set()


def watched(options: Union[c.PlanOptions, c.SolveOptions], call: Callable[[], T], progress: Optional[ProgressFunction] = None) -> T:
    """Run `call`, which calls the library with these options.

    KeyboardInterrupt in the main thread, and an exception of `progress`, end it.
    """
    if progress is None and threading.current_thread() is not threading.main_thread():
        return call()
    job = _Job(options, call)
    try:
        while not job.done.wait(_BETWEEN):
            if progress is not None and job.latest is not None:
                progress(job.latest)
    except BaseException:
        job.cancelled = True
        job.done.wait(_BETWEEN)
        raise
    if job.error is not None:
        raise job.error
    return job.result  # type: ignore[return-value]
