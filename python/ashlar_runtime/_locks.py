"""Locks of sessions and trainings: threads that share one take turns."""
from __future__ import annotations

import os
import threading
import weakref
from typing import Optional


class Turns:
    """A lock for `with`.

    Objects that run in one arena share a lock, found by the arena's address. It is unlocked in a
    forked child, because the thread that held it does not exist there.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _all.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    @staticmethod
    def of_arena(address: Optional[int]) -> "Turns":
        """Return the lock of an arena; a new lock if there is no address."""
        if address is None:
            return Turns()
        with _guard:
            turns = _by_arena.get(address)
            if turns is None:
                turns = _by_arena[address] = Turns()
            return turns


_all: "weakref.WeakSet[Turns]" = weakref.WeakSet()
_by_arena: "weakref.WeakValueDictionary[int, Turns]" = weakref.WeakValueDictionary()
_guard = threading.Lock()


def _unlock_in_child() -> None:
    global _guard
    _guard = threading.Lock()
    for turns in _all:
        turns._lock = threading.Lock()


os.register_at_fork(after_in_child=_unlock_in_child)
