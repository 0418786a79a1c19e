"""The memory of a module as a table, before anything runs."""
from __future__ import annotations

import weakref
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from .. import _library as c
from ._export import export
from ._train import MOMENTS, Loss, Optimizer, loss_name, optimizer_settings, training_session

RECOMPUTED = (0.0, 0.1, 0.2)  # operations that are done twice, as a ratio
_MOMENTS = {"sgd": 1, "adam": 2, "adamw": 2}


class MemoryRow(NamedTuple):
    """Bytes of one way to run a module. `gradients` is None if the activations include them."""
    name: str
    activations: int
    weights: int
    gradients: Optional[int]
    moments: int

    @property
    def total(self) -> int:
        return self.activations + self.weights + (self.gradients or 0) + self.moments


class MemoryTable(List[MemoryRow]):
    """The rows of `plan`; `str` prints them in MB (1e6 bytes)."""

    def __str__(self) -> str:
        lines = [f"{'MB':24}{'activations':>13}{'weights':>13}{'gradients':>13}{'moments':>13}{'total':>13}"]
        for row in self:
            cells = [row.activations, row.weights, row.gradients, row.moments, row.total]
            lines.append(f"{row.name:24}" + "".join(f"{'with them' if b is None else format(b / 1e6, '.3f'):>13}" for b in cells))
        return "\n".join(lines)


def plan(module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Optional[Mapping[str, Any]] = None, train: bool = False,
         loss: Loss = "cross-entropy", optimizer: Optimizer = "sgd", **options: Any) -> MemoryTable:
    """Return the memory that a module takes, before anything runs.

    The first row estimates eager mode, from the sizes of its tensors alone. The others are plans:
    without a budget, and in the least memory. For training these recompute at most 0 %, 10 % and
    20 % of the operations.

    Parameters
    ----------
    module : torch.nn.Module
    args : tuple
    kwargs : mapping, optional
        Not for training.
    train : bool, default False
    loss, optimizer
        Of the training, as of `TrainingStep`.
    **options
        Options of `Model.plan`.
    """
    if not train:
        table = MemoryTable([_eager(module, args, kwargs or {}, None, 0)])
        model, _ = export(module, args, kwargs)
        for name, budget in (("plan", None), ("plan, least memory", "min")):
            memory = model.plan(budget=budget, **options).memory
            table.append(MemoryRow(name, memory.arena + memory.output, memory.weights, 0, 0))
        return table
    if kwargs or len(args) != 1:
        raise c.InvalidArgument(f"a training has one input; got {len(args)} arguments and {len(kwargs or {})} by name")
    settings = optimizer_settings(optimizer)
    moments = _MOMENTS[settings["optimizer"]] if settings.get("momentum") != 0 or settings["optimizer"] != "sgd" else 0
    table = MemoryTable([_eager(module, args, {}, loss_name(loss), moments)])
    limits: List[Tuple[str, Dict[str, Any]]] = [("plan", {})]
    limits += [(f"plan, {ratio:.0%} recomputed", {"budget": "min", "max_extra_flops": ratio}) for ratio in RECOMPUTED]
    for name, limit in limits:
        session, _ = training_session(module, args[0], loss, optimizer, **limit, **options)
        moment_bytes = sum(info.bytes for state, info in session.states.items() if state.endswith(MOMENTS))
        memory = session.memory
        # A plan within a lower limit is one within this limit, too.
        arena = min([memory.arena] + [row.activations for row in table[1:]])
        table.append(MemoryRow(name, arena, memory.state - moment_bytes + memory.weights, None, moment_bytes))
    return table


class _LiveBytes(TorchDispatchMode):  # type: ignore[misc]
    """Counts the bytes of tensors that operators make, while they live."""

    def __init__(self) -> None:
        super().__init__()
        self.live = self.peak = 0
        self._known: Dict[int, Any] = {}

    def __torch_dispatch__(self, function: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Optional[Dict[str, Any]] = None) -> Any:
        before = {id(leaf.untyped_storage()) for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)}
        result = function(*args, **(kwargs or {}))
        for leaf in pytree.tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                storage = leaf.untyped_storage()
                if id(storage) not in before and id(storage) not in self._known:
                    self._add(storage)
        return result

    def _add(self, storage: Any) -> None:
        key, size = id(storage), storage.nbytes()

        def released(_: Any) -> None:
            self.live -= size
            del self._known[key]

        self._known[key] = weakref.ref(storage, released)
        self.live += size
        self.peak = max(self.peak, self.live)


def _eager(module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Mapping[str, Any], loss: Optional[str], moments: int) -> MemoryRow:
    """Run the module on tensors without memory; `loss` names the one of a training step."""
    modes = [(part, part.training) for part in module.modules()]
    module.train(loss is not None)
    try:
        with FakeTensorMode(allow_non_fake_inputs=True) as fake:
            def as_fake(value: Any) -> Any:
                return fake.from_tensor(value) if isinstance(value, torch.Tensor) else value

            tensors: Dict[str, Any] = {**dict(module.named_parameters()), **dict(module.named_buffers())}
            state = {name: as_fake(tensor) for name, tensor in tensors.items()}
            inputs, named = pytree.tree_map(as_fake, (tuple(args), dict(kwargs)))
            learned = [tensor for tensor in state.values() if tensor.requires_grad]
            weights = sum(tensor.nbytes for tensor in tensors.values())
            with _LiveBytes() as live, torch.set_grad_enabled(loss is not None):
                result = torch.func.functional_call(module, state, inputs, named)
                if loss is None:
                    return MemoryRow("eager, estimated", live.peak, weights, 0, 0)
                if loss == "mse":
                    value = torch.nn.functional.mse_loss(result, torch.empty_like(result))
                else:
                    value = torch.nn.functional.cross_entropy(result, torch.zeros(result.shape[0], dtype=torch.int64))
                del result
                gradients = torch.autograd.grad(value, learned, allow_unused=True)
    finally:
        for part, training in modes:
            part.training = training
    size = sum(gradient.nbytes for gradient in gradients if gradient is not None)
    learned_bytes = sum(tensor.nbytes for tensor in learned)
    return MemoryRow("eager, estimated", max(live.peak - size, 0), weights, size, moments * learned_bytes)
