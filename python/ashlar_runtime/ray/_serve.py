"""Serves requests with Ray Serve, in the Open Inference Protocol (v2)."""
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
    """Return an application for `serve.run`.

    It serves /v2, /v2/health/{live,ready}, /v2/models/NAME, .../ready and .../infer, with tensors
    as JSON or binary data. Each replica declares the memory of its plans.

    Parameters
    ----------
    model : str or os.PathLike
    name : str, optional
        The model's name; by default the file's, without its ending.
    batch : int, sequence of int or None, default 1
        The batch sizes to plan. None: the model's own shapes, one request a run.
    replicas : int, default 1
    wait_s : float, default 0.002
        Requests that arrive within so many seconds run together.
    pack : bool, default True
        Store the weights in a file, shared by the replicas of a node. With several batch sizes each
        replica holds the weights in memory, once.
    folder : str or os.PathLike, optional
        The folder of that file.
    idle : int or str, default "serve"
        The memory of an idle replica: bytes, a size, or the kind of worker to measure.
    **plan
        Options of `Model.plan`.

    Returns
    -------
    ray.serve.Application
    """
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
