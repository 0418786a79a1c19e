"""Packs weights once per node, into a file that all its workers map: the page cache holds them
once.
"""
from __future__ import annotations

import ctypes
import fcntl
import hashlib
import json
import os
import pathlib
import stat
import tempfile
from typing import Any, Dict, Mapping, Optional

from .._buckets import Buckets
from .._library import InvalidArgument, RejectedFile
from .._model import Plan, load
from ._pack import pack as pack_apart
from ._worker import Batch, Path, own_size, plans_by_batch


def _folder(given: Optional[Path]) -> pathlib.Path:
    """Return the folder of packed files; the default one must be writable by this user only."""
    if given is not None:
        os.makedirs(given, exist_ok=True)
        return pathlib.Path(given)
    own = pathlib.Path(tempfile.gettempdir()) / f"ashlar-{os.getuid()}"
    own.mkdir(mode=0o700, exist_ok=True)
    found = own.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o022:
        raise InvalidArgument(f"{own} is not this user's alone; give a folder for packed files")
    return own


def _name(model: Path, batch: Batch, plan: Mapping[str, Any]) -> str:
    """Return the file name for the current state of a model, a batch size and planning options."""
    path = os.path.realpath(model)
    found = os.stat(path)
    options = {name: value for name, value in plan.items() if name != "threads"}
    identity = json.dumps([path, found.st_size, found.st_mtime_ns, batch, options], sort_keys=True, default=str)
    return f"{pathlib.Path(path).stem}-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.ash"


def _from_file(path: pathlib.Path, plan: Mapping[str, Any]) -> Optional[Plan]:
    """Return a plan that uses the weights in the file.

    None if there is no file, or if it is for another processor, library or plan.
    """
    if not path.exists():
        return None
    try:
        model = load(path)
        # Checked before a possible search for a small plan.
        if model.plan(threads=1).memory.weights_in_file == 0:
            return None
        found = model.plan(**{name: value for name, value in plan.items() if name != "shapes"})
    except RejectedFile:
        return None
    return found if found.memory.weights_in_file == found.memory.weights else None


def _packed_plan(path: Path, batch: Optional[int], plan: Mapping[str, Any], folder: Optional[Path]) -> Plan:
    """Return a plan that uses weights in a file.

    Uses the model's own file if it is packed for this plan. Otherwise the first worker on a node
    writes a packed file, while the others wait.
    """
    own = _from_file(pathlib.Path(path), plan) if "shapes" not in plan else None
    if own is not None and all(batch in (None, info.shape[:1][0]) for info in own.inputs if info.shape):
        return own
    target = _folder(folder) / _name(path, batch, plan)
    found = _from_file(target, plan)
    if found is None:
        with open(f"{target}.lock", "w", encoding="ascii") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            found = _from_file(target, plan)
            if found is None:
                pack_apart(path, batch, plan, target)  # renamed when all is written
                found = _from_file(target, plan)
    if found is None:
        raise InvalidArgument(f"{target}: packed just now, and its weights are not used")
    return found


def _plans_on_node(path: Path, batch: Batch, plan: Mapping[str, Any], pack: bool, folder: Optional[Path]) -> Dict[int, Plan]:
    """Return the plans by batch size."""
    sizes = [batch] if batch is None or isinstance(batch, int) else sorted(set(batch))
    if not pack or len(sizes) != 1 or load(path).plan(threads=1, shapes=plan.get("shapes")).memory.weights == 0:
        return plans_by_batch(load(path), batch, plan)
    found = _packed_plan(path, sizes[0], plan, folder)
    return {own_size(found): found}


def _let_go() -> None:
    """Return the memory that planning freed, a megabyte or more, from the heap to the system."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(ctypes.c_size_t(0))


def buckets_on_node(path: Path, batch: Batch, plan: Mapping[str, Any], pack: bool, folder: Optional[Path]) -> Buckets:
    """Create a worker's buckets. It has then allocated its declared memory, except the caller's
    tensors.
    """
    made = Buckets.of(_plans_on_node(path, batch, plan, pack, folder))
    _let_go()
    return made
