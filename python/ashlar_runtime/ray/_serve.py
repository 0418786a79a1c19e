"""Requests: Ray Serve, in the Open Inference Protocol (v2)."""
from __future__ import annotations

import os
import pathlib
from typing import TYPE_CHECKING, Any, Optional, Union

from .._model import load
from ._worker import Batch, Path, actor_options, plans_by_batch, with_threads

if TYPE_CHECKING:
    from ray.serve import Application


def app(model: Path, name: Optional[str] = None, *, batch: Batch = 1, replicas: int = 1, wait_s: float = 0.002, pack: bool = True,
        folder: Optional[Path] = None, idle: Union[int, str] = "serve", **plan: Any) -> "Application":
    """An application for serve.run: /v2, /v2/health/{live,ready}, /v2/models/NAME, .../ready and .../infer, with tensors as
    JSON or binary. `name`: the file's, without its ending. `batch`: sizes that are planned; requests that come within
    `wait_s` of each other run together. None: the model's own shapes, one request a run. Each replica declares the memory that
    its plans take; weights of one size lie in a file (`pack`), those of several are each replica's own, once."""
    from ray import serve

    from ._endpoint import Endpoint

    path = os.path.abspath(model)
    options = with_threads(plan)
    largest = 1 if batch is None else max(plans_by_batch(load(path), batch, options))
    deployment = serve.deployment(Endpoint).options(  # type: ignore[attr-defined,unused-ignore]
        name=name or pathlib.Path(path).stem, num_replicas=replicas, max_ongoing_requests=max(8, 2 * largest),
        ray_actor_options=actor_options(path, batch, pack=pack, idle=idle, **options),
        user_config={"requests": largest, "wait_s": wait_s})
    application: "Application" = deployment.bind(path, name or pathlib.Path(path).stem, batch, pack, folder, options)
    return application
