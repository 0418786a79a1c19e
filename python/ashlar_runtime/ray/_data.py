"""Batches: Ray Data."""
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
    """That the nodes of the cluster have room for, with a CPU left over for reading."""
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
    """The dataset with the model's outputs as columns. Each worker declares the memory that its plan takes; without `workers`
    there are as many as have room beside one CPU for reading: actors on all CPUs starve the tasks that read, and the job
    hangs. Ray Data replaces a worker or a node that is lost, and runs its batches again: each row comes out once. `resources`:
    others that a worker takes."""
    import ray
    from ray.data import ActorPoolStrategy

    options = with_threads(plan)
    plans = plans_by_batch(load(model), batch, options)
    (size, own), = plans.items()
    # Ray Data holds a batch that comes next, and blocks that it makes of results.
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
