"""Parses sizes in the command's formats: 3268608, "3.3MB", "512KiB", "min"."""
from __future__ import annotations

import operator
import re
from typing import Union

from ._library import InvalidArgument

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
LEAST = -1  # ASHLAR_LEAST


def parse_size(size: Union[int, float, str], parameter: str = "size") -> int:
    """Return a size in bytes; LEAST for "min". InvalidArgument names the parameter."""
    wrong = InvalidArgument(f"{parameter} is {size!r}, expected a size, such as 3268608, '3.3MB', '512KiB' or 'min'")
    if not isinstance(size, str):
        try:
            return int(size) if isinstance(size, float) and size.is_integer() else operator.index(size)  # type: ignore[arg-type]
        except TypeError:
            raise wrong from None
    if size.strip().lower() == "min":
        return LEAST
    match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", size)
    if match is None or match.group(2).lower() not in UNITS:
        raise wrong
    return int(float(match.group(1)) * UNITS[match.group(2).lower()])
