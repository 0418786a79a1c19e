"""The options of a plan, as the library takes them."""
from __future__ import annotations

import difflib
import operator
import os
from typing import List, Mapping, Optional, Sequence, Union

import numpy as np

from . import _library as c
from ._sizes import LEAST, parse_size
from ._tensors import _encoded


def _plan_options(budget: Union[int, str, None] = None, threads: int = 0,
                  shapes: Optional[Mapping[str, Union[str, Sequence[int]]]] = None, prefer: str = "speed", exact: bool = False,
                  max_extra_flops: Optional[float] = None, tile: Optional[str] = None, device: Optional[str] = None,
                  precision: Optional[str] = None, kernel_record: Optional[str] = None,
                  release_input: bool = False, time_limit: float = 0, passes: Optional[str] = None,
                  plan_file: Optional[Union[str, "os.PathLike[str]"]] = None, **more: Union[str, int, None]) -> c.PlanOptions:
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
        num_shapes=len(given), release_input=int(release_input), time_limit=time_limit, passes=_encoded(passes),
        more=_encoded(" ".join(_option(name, value) for name, value in more.items() if value is not None)),
        plan_file=None if plan_file is None else os.fsencode(plan_file))


_KEYWORDS = ("threads", "shapes", "prefer", "exact", "max_extra_flops", "tile", "device", "precision", "kernel_record",
             "share", "release_input", "time_limit", "progress", "passes", "plan_file", "budget")


def _option(name: str, value: Union[str, int, None]) -> str:
    """Write a further planning option as the command spells it: "inplace=off"."""
    if name in ("memory_budget", "total_budget"):
        raise TypeError(f"{name} is no option of a plan here; the limit on its arena is `budget`")
    names = c.plan_option_names()
    if name not in names:
        near = difflib.get_close_matches(name, [*_KEYWORDS, *names], 1)
        raise TypeError(f"unexpected keyword argument {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
    text = ("off", "on")[bool(value)] if isinstance(value, (bool, np.bool_)) else str(value)
    if not text or not text.isprintable() or " " in text:
        raise c.InvalidArgument(f"{name} is {value!r}; expected a word")
    return f"{name}={text}"


def _shape(name: str, shape: Union[str, Sequence[int]]) -> List[int]:
    """Parse a shape: (1, 3, 224, 224), or "1x3x224x224" as on the command line."""
    try:
        if isinstance(shape, str):
            return [int(size) for size in shape.split("x")]
        return [operator.index(size) for size in shape]
    except (TypeError, ValueError):
        raise c.InvalidArgument(f"the shape of '{name}' is {shape!r}; expected integers, such as (1, 3, 224, 224) or "
                                "'1x3x224x224'") from None
