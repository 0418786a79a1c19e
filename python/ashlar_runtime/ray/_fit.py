"""The best use of a node: how many workers, at which batch size, in which budget. Nothing is started for it."""
from __future__ import annotations

from typing import Any, Dict, Iterator, NamedTuple, Optional, Union

from .._buckets import plans_for
from .._library import DoesNotFit, InvalidArgument, Unsupported
from .._model import Model, Plan, load
from .._sizes import parse_size
from ._worker import Path, idle_bytes, with_threads, worker_bytes


WORTHWHILE = 1.02  # as many times the rows a second are worth a search


class Fit(NamedTuple):
    workers: int
    batch: int
    budget: Optional[int]  # of the arena, bytes; None: the whole plan fits
    worker_memory: int  # bytes: what each declares
    node_memory: int  # bytes: all of them, and the weights that they share
    rows_per_second: float  # predicted


class _Node(NamedTuple):
    """What there is, and what a worker takes of it."""
    memory: int
    most_workers: int
    idle: int
    pack: bool

    def shared(self, plan: Plan) -> int:
        return plan.memory.weights if self.pack else 0

    def fit(self, batch: int, plan: Plan, budget: Optional[int]) -> Optional[Fit]:
        """As many workers as there is room for; None for none."""
        worker = self.idle + worker_bytes({batch: plan}, self.pack)
        workers = min(self.most_workers, (self.memory - self.shared(plan)) // worker)
        if workers < 1:
            return None
        speed = self.speed(workers, batch, plan)
        return Fit(workers, batch, budget, worker, workers * worker + self.shared(plan), speed)

    @staticmethod
    def speed(workers: int, batch: int, plan: Plan) -> float:
        """Rows a second."""
        return workers * batch * 1000 / max(plan.memory.predicted_ms, 1e-6)

    def needed(self, batch: int, plan: Plan) -> int:
        """Bytes of a node for one worker."""
        return self.idle + worker_bytes({batch: plan}, self.pack) + self.shared(plan)

    def budget(self, batch: int, plan: Plan, workers: int) -> int:
        """Of an arena, with which so many workers have room; may be negative."""
        beside = self.idle + worker_bytes({batch: plan}, self.pack) - plan.memory.arena
        return (self.memory - self.shared(plan)) // workers - beside


def _plan(model: Model, batch: int, budget: Union[int, str, None], plan: Dict[str, Any]) -> Plan:
    return plans_for(model, [batch], budget=budget, **plan)[batch]


def _fits(model: Model, node: _Node, batch: int, plan: Dict[str, Any], best: float) -> Iterator[Fit]:
    """Of one batch size; small plans, which take a search, where they may be of more rows a second than `best`: a plan is no
    faster than the whole one."""
    whole = _plan(model, batch, None, plan)
    found = node.fit(batch, whole, None)
    if found is not None:
        yield found
        best = max(best, found.rows_per_second)
    workers = node.most_workers
    while workers > (found.workers if found else 0):
        budget = node.budget(batch, whole, workers)
        if budget > 0 and node.speed(workers, batch, whole) > WORTHWHILE * best:
            try:
                small = node.fit(batch, _plan(model, batch, budget, plan), budget)
            except DoesNotFit:
                small = None
            if small is not None:
                yield small
                best = max(best, small.rows_per_second)
        workers //= 2


def fit(model: Path, memory: Union[int, str], cpus: float, *, largest: int = 64, pack: bool = True,
        idle: Union[int, str] = "64MiB", **plan: Any) -> Fit:
    """Workers, batch size (1, 2, 4 ... `largest`) and budget of the most rows a second predicted on a node of so much memory
    and so many CPUs. `idle`: bytes of an idle worker, or the kind to measure ("data", where Ray is up). Raises DoesNotFit with
    the bytes of a node that would do."""
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
            break  # a model of one batch size
        if best is None:
            break  # larger ones take more
        batch *= 2
    return best if best is not None else _least(opened, node, options)


def _least(model: Model, node: _Node, plan: Dict[str, Any]) -> Fit:
    """The smallest worker of one row."""
    least = _plan(model, 1, "min", plan)
    found = node.fit(1, least, least.memory.arena)
    if found is not None:
        return found
    needed = min(node.needed(1, one) for one in (least, _plan(model, 1, None, plan)))
    raise DoesNotFit(f"{node.memory} bytes hold no worker; {needed} would", needed)
