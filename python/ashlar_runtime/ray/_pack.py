"""Packs a model's weights into a file, in a separate process, whose end frees the memory of
planning and packing.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Mapping

from .._library import Error
from .._model import load
from ._worker import Batch, Path, plans_by_batch


def pack(model: Path, batch: Batch, plan: Mapping[str, Any], target: Path) -> None:
    """Pack the weights for plans of one batch size. The file appears when all is written."""
    job = json.dumps([os.fspath(model), batch, dict(plan), os.fspath(target)])
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    done = subprocess.run([sys.executable, "-m", "ashlar_runtime.ray._pack", job], env=environment, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0:
        plans_by_batch(load(model), batch, plan)  # raises the exception for faulty options
        raise Error(f"{target}: packing failed: {done.stderr[-1000:]}")


def main(job: str) -> None:
    path, batch, plan, target = json.loads(job)
    model = load(path)
    (own,) = plans_by_batch(model, batch, plan).values()
    model.pack(target, own)


if __name__ == "__main__":
    main(*sys.argv[1:])
