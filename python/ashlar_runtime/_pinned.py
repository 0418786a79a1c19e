"""Memory of the host's that a device copies from and to itself."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _library as c


class Pinned:
    """Pins a contiguous array for a device while this lives, or until release(); `with Pinned(x, "gpu0:0"):` does both. Sessions that
    are bound to it copy without the host, from start() to wait(); bind them to others before it is unpinned."""

    def __init__(self, array: "np.ndarray[Any, Any]", device: str) -> None:
        if not array.flags.c_contiguous:
            raise c.InvalidArgument(f"pinned memory: got strides {array.strides}, expected a contiguous array")
        self.array = array
        self._device, self._address = device.encode(), 0
        c.call("pin", self._device, array.ctypes.data, array.nbytes)
        self._address = array.ctypes.data

    def release(self) -> None:
        address, self._address = self._address, 0
        if address:
            c.call("unpin", self._device, address)

    def __enter__(self) -> "np.ndarray[Any, Any]":
        return self.array

    def __exit__(self, *_: Any) -> None:
        self.release()

    def __del__(self) -> None:
        if getattr(self, "_address", 0):
            self.release()
