"""Batch inference with Ray Data."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Mapping, Optional, Union

from .._library import InvalidArgument
from .._model import load
from ._predictor import Predictor
from ._worker import Path, idle_bytes, plans_by_batch, with_threads, worker_bytes

if TYPE_CHECKING:
    from ray.data import Dataset


def _most_workers(memory: int, threads: int) -> int:
    """Return how many workers fit on the cluster's nodes, with one CPU left for reading."""
    import ray

    alive = [node["Resources"] for node in ray.nodes()  # type: ignore[no-untyped-call,unused-ignore]
             if node["Alive"]]
    cpus = sum(node.get("CPU", 0) for node in alive)
    room = sum(min(int(node.get("CPU", 0) // threads), int(node.get("memory", 0) // memory)) for node in alive)
    if room < 1:
        largest = max((node.get("memory", 0) for node in alive), default=0)
        raise InvalidArgument(f"a worker takes {memory} bytes and {threads} CPUs; the largest node of the cluster has "
                              f"{int(largest)} bytes, and all have {cpus:g} CPUs")
    return max(1, min(room, int((cpus - 1) // threads)))


def map_batches(dataset: "Dataset", model: Path, batch: Optional[int] = None, *, workers: Optional[int] = None,
                columns: Optional[Mapping[str, str]] = None, pack: bool = True, folder: Optional[Path] = None,
                idle: Union[int, str] = "data", resources: Optional[Mapping[str, float]] = None, **plan: Any) -> "Dataset":
    """Return the dataset with the model's outputs as columns.

    Ray Data replaces a lost worker or node, and runs its batches again: each row is output once.

    Parameters
    ----------
    dataset : ray.data.Dataset
    model : str or os.PathLike
    batch : int, optional
        The batch size; by default the model's own.
    workers : int, optional
        The number of workers. By default as many as fit with one CPU left: if actors occupy all
        CPUs, the tasks that read starve, and the job hangs.
    columns : mapping of str to str, optional
        The column of each input; by default the input's name.
    pack, folder
        Whether to pack the weights into a file once per node, and the folder of that file.
    idle : int or str, default "data"
        The memory of an idle worker: bytes, a size, or the kind of worker to measure.
    resources : mapping of str to float, optional
        Further resources of a worker.
    **plan
        Options of `Model.plan`. Each worker declares the memory of its plan.

    Returns
    -------
    ray.data.Dataset
    """
    import ray
    from ray.data import ActorPoolStrategy

    options = with_threads(plan)
    plans = plans_by_batch(load(model), batch, options)
    (size, own), = plans.items()
    # Ray Data also holds the next batch, and the blocks built from results.
    memory = idle_bytes(idle) + worker_bytes(plans, pack) + 2 * (own.memory.input + own.memory.output)
    threads = options["threads"]
    count = workers if workers is not None else _most_workers(memory, threads)
    cpus = ray.cluster_resources().get("CPU", 0)  # type: ignore[no-untyped-call,unused-ignore]
    leaves_one = workers is not None or count * threads <= cpus - 1
    return dataset.map_batches(Predictor, batch_size=size, batch_format="numpy", zero_copy_batch=True,
                               compute=ActorPoolStrategy(size=count), fn_constructor_args=(os.path.abspath(model),),
                               fn_constructor_kwargs={"batch": batch, "columns": columns, "pack": pack, "folder": folder, **options},
                               num_cpus=threads if leaves_one else 0, memory=memory,
                               resources=None if resources is None else dict(resources))
