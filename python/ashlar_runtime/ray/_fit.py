"""Finds the best use of a node: number of workers, batch size and budget. Starts no workers."""
from __future__ import annotations

from typing import Any, Dict, Iterator, NamedTuple, Optional, Union

from .._buckets import plans_for
from .._library import DoesNotFit, InvalidArgument, Unsupported
from .._model import Model, Plan, load
from .._sizes import parse_size
from ._worker import Path, idle_bytes, with_threads, worker_bytes


WORTHWHILE = 1.02  # the speed-up that makes a search worthwhile
TRIES = 3  # budgets for a number of workers: a plan that has more steps needs more beside its arena


class Fit(NamedTuple):
    workers: int
    batch: int
    budget: Optional[int]  # limit on the arena in bytes; None: no limit is needed
    worker_memory: int  # bytes declared by each worker
    node_memory: int  # bytes of all workers and their shared weights
    rows_per_second: float  # predicted


class _Node(NamedTuple):
    """The resources of a node, and the needs of a worker."""
    memory: int
    most_workers: int
    idle: int
    pack: bool

    def shared(self, plan: Plan) -> int:
        return plan.memory.weights if self.pack else 0

    def fit(self, batch: int, plan: Plan, budget: Optional[int]) -> Optional[Fit]:
        """Return a fit with as many workers as there is room for, or None."""
        worker = self.idle + worker_bytes({batch: plan}, self.pack)
        workers = min(self.most_workers, (self.memory - self.shared(plan)) // worker)
        if workers < 1:
            return None
        speed = self.speed(workers, batch, plan)
        return Fit(workers, batch, budget, worker, workers * worker + self.shared(plan), speed)

    @staticmethod
    def speed(workers: int, batch: int, plan: Plan) -> float:
        """Return rows a second."""
        return workers * batch * 1000 / max(plan.memory.predicted_ms, 1e-6)

    def needed(self, batch: int, plan: Plan) -> int:
        """Return the bytes that a node needs for one worker."""
        return self.idle + worker_bytes({batch: plan}, self.pack) + self.shared(plan)

    def budget(self, batch: int, plan: Plan, workers: int) -> int:
        """Return the largest arena with which `workers` workers fit; may be negative."""
        beside = self.idle + worker_bytes({batch: plan}, self.pack) - plan.memory.arena
        return (self.memory - self.shared(plan)) // workers - beside


def _plan(model: Model, batch: int, budget: Union[int, str, None], plan: Dict[str, Any]) -> Plan:
    return plans_for(model, [batch], budget=budget, **plan)[batch]


def _fits(model: Model, node: _Node, batch: int, plan: Dict[str, Any], best: float) -> Iterator[Fit]:
    """Yield the fits of one batch size.

    A plan under a budget takes a search, and is hardly faster than the plan without. It is searched
    only if more workers could then process more rows a second than `best`.
    """
    whole = _plan(model, batch, None, plan)
    found = node.fit(batch, whole, None)
    if found is not None:
        yield found
        best = max(best, found.rows_per_second)
    workers = node.most_workers
    while workers > (found.workers if found else 0):
        budget = node.budget(batch, whole, workers)
        for _ in range(TRIES):
            if budget <= 0 or node.speed(workers, batch, whole) <= WORTHWHILE * best:
                break
            try:
                tiled = _plan(model, batch, budget, plan)
            except DoesNotFit:
                break
            small = node.fit(batch, tiled, budget)
            if small is not None:
                yield small
                best = max(best, small.rows_per_second)
                if small.workers >= workers:
                    break
            budget = tiled.memory.arena - 1
        workers //= 2


def fit(model: Path, memory: Union[int, str], cpus: float, *, largest: int = 64, pack: bool = True,
        idle: Union[int, str] = "64MiB", **plan: Any) -> Fit:
    """Find the workers, batch size and budget with the most predicted rows a second on a node.

    Parameters
    ----------
    model : str or os.PathLike
    memory : int or str
        The node's memory.
    cpus : float
        The node's CPUs.
    largest : int, default 64
        The largest batch size to try: 1, 2, 4, ...
    pack : bool, default True
        Whether workers share the weights in a file.
    idle : int or str, default "64MiB"
        The memory of an idle worker: bytes, a size, or the kind of worker to measure ("data"; Ray
        must be running).
    **plan
        Options of `Model.plan`, except `budget`.

    Returns
    -------
    Fit

    Raises
    ------
    DoesNotFit
        If no worker fits. `smallest` is a sufficient memory of a node.
    """
    options = with_threads(plan)
    if "budget" in options:
        raise InvalidArgument("fit looks for the budget and the batch size; give no budget")
    most = int(cpus // options["threads"])
    if most < 1:
        raise InvalidArgument(f"{cpus} CPUs for {options['threads']} threads a worker")
    opened = load(model)
    node = _Node(parse_size(memory, "memory"), most, idle_bytes(idle), pack)
    best: Optional[Fit] = None
    batch = 1
    while batch <= largest:
        try:
            for found in _fits(opened, node, batch, options, best.rows_per_second if best else 0):
                best = found if best is None or found.rows_per_second > best.rows_per_second else best
        except (InvalidArgument, Unsupported):
            if batch == 1:
                raise
            break  # the model has a fixed batch size
        if best is None:
            break  # larger batches need more
        batch *= 2
    return best if best is not None else _least(opened, node, options)


def _least(model: Model, node: _Node, plan: Dict[str, Any]) -> Fit:
    """Return a fit with the smallest worker of batch size 1."""
    least = _plan(model, 1, "min", plan)
    found = node.fit(1, least, least.memory.arena)
    if found is not None:
        return found
    needed = min(node.needed(1, one) for one in (least, _plan(model, 1, None, plan)))
    raise DoesNotFit(f"{node.memory} bytes hold no worker; {needed} would", needed)
