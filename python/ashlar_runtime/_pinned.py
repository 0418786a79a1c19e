"""Pinned host memory, which a device copies from and to without the host."""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _library as c


class Pinned:
    """Pin a contiguous array for a device, until `release` or the end of this object's life.

    Use it as a context manager: ``with Pinned(x, "gpu0:0"):``. Sessions bound to the array copy it
    without the host, between `Session.start` and `Session.wait`. Bind them to other arrays before
    it is unpinned.

    Parameters
    ----------
    array : numpy.ndarray
    device : str
    """

    def __init__(self, array: "np.ndarray[Any, Any]", device: str) -> None:
        if not array.flags.c_contiguous:
            raise c.InvalidArgument(f"pinned memory: got strides {array.strides}, expected a contiguous array")
        self.array = array
        self._device, self._address = device.encode(), 0
        c.call("pin", self._device, array.ctypes.data, array.nbytes)
        self._address = array.ctypes.data

    def release(self) -> None:
        """Unpin the array; further calls do nothing."""
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
