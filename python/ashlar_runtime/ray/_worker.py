"""Computes the resources of a worker, in the units by which Ray places actors."""
from __future__ import annotations

import importlib
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .._buckets import plans_for, weights_of
from .._family import planned_family
from .._library import InvalidArgument
from .._model import Model, Plan, load
from .._sizes import parse_size

Path = Union[str, "os.PathLike[str]"]
Batch = Union[None, int, Sequence[int]]
Sizes = Union[Batch, Mapping[str, str]]  # or of all dimensions, by input

SLACK = 1 << 20  # rounding and reserves of the allocator
STEP = 2048  # bytes of a plan for each step: its graph, kernels and names

# The modules that an idle actor, and an idle replica of Serve, has imported.
IMPORTS: Dict[str, str] = {"actor": "ashlar_runtime.ray._predictor", "serve": "ashlar_runtime.ray._endpoint"}

_idle: Dict[Tuple[str, str], int] = {}  # by the cluster's address and the kind of worker


def own_memory() -> int:
    """Return the private bytes of this process: heap, stacks, and changed pages of libraries."""
    with open("/proc/self/smaps_rollup", encoding="ascii") as rollup:
        return sum(int(line.split()[1]) * 1024 for line in rollup if line.startswith(("Private_Dirty:", "Swap:")))


def _idle_memory(module: str) -> int:
    importlib.import_module(module)
    return own_memory()


class _IdleMapper:
    """A worker of Ray Data that does nothing with its batches."""

    def __init__(self) -> None:
        importlib.import_module(IMPORTS["actor"])

    def __call__(self, batch: Mapping[str, Any]) -> Dict[str, List[int]]:
        return {"bytes": [own_memory()]}


def _idle_mapper() -> int:
    """Measure an idle worker of Ray Data with a job, because such a worker grows with its first
    batches.
    """
    from ray.data import ActorPoolStrategy, from_items

    some = from_items(list(range(8)), override_num_blocks=8)
    made = some.map_batches(_IdleMapper, batch_size=1, compute=ActorPoolStrategy(size=1), num_cpus=0)
    return max(int(row["bytes"]) for row in made.take_all())


def idle_worker(kind: str = "actor") -> int:
    """Return the bytes of a worker before it has a model.

    Measured in a separate worker, once for each cluster that this process connects to.

    Parameters
    ----------
    kind : {"actor", "data", "serve"}, default "actor"
    """
    import ray

    if kind not in (*IMPORTS, "data"):
        raise InvalidArgument(f"kind is {kind!r}; expected 'actor', 'data' or 'serve'")
    key = (ray.get_runtime_context().gcs_address, kind)
    if key not in _idle:
        measure = ray.remote(num_cpus=0, max_calls=1)(_idle_memory)
        _idle[key] = _idle_mapper() if kind == "data" else int(ray.get(measure.remote(IMPORTS[kind])))
    return _idle[key]


def with_threads(plan: Mapping[str, Any]) -> Dict[str, Any]:
    """Return planning options for a worker: one thread by default, because Ray counts CPUs."""
    options = {"threads": 1, **plan}
    if options["threads"] < 1:
        raise InvalidArgument(f"threads is {options['threads']}; a worker needs to say how many CPUs it takes")
    return options


def idle_bytes(idle: Union[int, str]) -> int:
    """Parse the memory of an idle worker: bytes, a size ("64MiB"), or a kind of worker to measure.
    """
    return idle_worker(idle) if isinstance(idle, str) and idle.isalpha() else parse_size(idle, "idle")


def own_size(plan: Plan) -> int:
    """Return the batch size of a plan's inputs; 1 if they have no dimensions."""
    return plan.inputs[0].shape[0] if plan.inputs and plan.inputs[0].shape else 1


def plans_by_batch(model: Model, batch: Sizes, plan: Mapping[str, Any]) -> Dict[int, Plan]:
    """Return the plans by batch size, or by the number of the point; without a size, one plan for the
    model's own shapes.
    """
    if isinstance(batch, Mapping):
        return dict(enumerate(planned_family(model, batch, dict(plan))[1]))
    if batch is not None:
        return plans_for(model, [batch] if isinstance(batch, int) else batch, **plan)
    own = model.plan(**plan)
    return {own_size(own): own}


def packs(plans: Mapping[int, Plan], pack: bool) -> bool:
    """Whether a file can hold the weights: it holds the weights of one plan."""
    return pack and len(plans) == 1


def worker_bytes(plans: Mapping[int, Plan], pack: bool) -> int:
    """Return the bytes of a worker in addition to an idle one.

    Weights in a file exist once per node, in the page cache, and are not counted.
    """
    memories = [plan.memory for plan in plans.values()]
    weights = 0 if packs(plans, pack) else weights_of(plans) - sum(m.weights_in_file for m in memories)
    steps = sum(len(plan.steps) for plan in plans.values())
    states = sum(m.state for m in memories)
    return max(m.arena for m in memories) + max(m.input + m.output for m in memories) + weights + states + steps * STEP + SLACK


def actor_options(model: Path, batch: Sizes = None, *, pack: bool = True, idle: Union[int, str] = "actor",
                  states: Optional[Mapping[str, str]] = None, **plan: Any) -> Dict[str, Any]:
    """Return the `num_cpus` and `memory` (bytes) of an actor that runs the model, for Ray's
    `options`.

    Parameters
    ----------
    model : str or os.PathLike
    batch : int, sequence of int, mapping of str to str or None, optional
        The batch sizes, or the sizes of all dimensions as for `Buckets`; by default the model's own.
    pack : bool, default True
        Whether the weights of one size will be in a file, as with `Predictor`.
    idle : int or str, default "actor"
        The memory of an idle worker: bytes, a size, or the kind to measure ("actor", "data",
        "serve").
    states : mapping of str to str, optional
        The outputs that become inputs of the next run, as for `ashlar_runtime.load`.
    **plan
        Options of `Model.plan`.

    Returns
    -------
    dict
    """
    options = with_threads(plan)
    plans = plans_by_batch(load(model, states=states), batch, options)
    return {"num_cpus": options["threads"], "memory": idle_bytes(idle) + worker_bytes(plans, pack)}
