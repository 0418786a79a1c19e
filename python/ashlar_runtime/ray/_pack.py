"""Packs a model's weights into a file, in a process of its own: what planning and packing take is gone when it ends."""
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
    """For plans of one batch size with these options. The file is there when all is written."""
    job = json.dumps([os.fspath(model), batch, dict(plan), os.fspath(target)])
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(filter(None, sys.path)))
    done = subprocess.run([sys.executable, "-m", "ashlar_runtime.ray._pack", job], env=environment, stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0:
        plans_by_batch(load(model), batch, plan)  # says as an exception what is wrong with the options
        raise Error(f"{target}: packing failed: {done.stderr[-1000:]}")


def main(job: str) -> None:
    path, batch, plan, target = json.loads(job)
    model = load(path)
    (own,) = plans_by_batch(model, batch, plan).values()
    model.pack(target, own)


if __name__ == "__main__":
    main(*sys.argv[1:])
