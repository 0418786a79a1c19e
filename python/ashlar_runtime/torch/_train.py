"""Trains a PyTorch module in one plan a step, within a budget."""
from __future__ import annotations

import copy
import re
from typing import Any, Dict, List, Mapping, Optional, Set, Tuple, Union

import torch

from .. import _library as c
from .._model import Model
from .._tensors import Memory
from .._training import LOSSES, OPTIMIZERS, TrainingSession
from ._compile import as_numpy
from ._export import export

Loss = Union[str, torch.nn.Module]
Optimizer = Union[str, "torch.optim.Optimizer"]

# The settings of PyTorch's optimizers that a step has; others must have these values.
_FIXED: Dict[str, Mapping[str, Any]] = {
    "sgd": {"dampening": 0, "maximize": False},
    "adam": {"betas": (0.9, 0.999), "eps": 1e-8, "amsgrad": False, "maximize": False},
    "adamw": {"betas": (0.9, 0.999), "eps": 1e-8, "amsgrad": False, "maximize": False},
}
_BATCH_NORM_MOMENTUM = 0.1
MOMENTS = (".momentum", ".adam_mean", ".adam_square")  # ends of the names of an optimizer's states


def loss_name(loss: Loss) -> str:
    """Return the library's name of a loss: a name, or PyTorch's module with its default settings."""
    if isinstance(loss, str) and loss in LOSSES:
        return loss
    if isinstance(loss, torch.nn.CrossEntropyLoss) and loss.weight is None and loss.ignore_index < 0 and not loss.label_smoothing and loss.reduction == "mean":
        return "cross-entropy"
    if isinstance(loss, torch.nn.MSELoss) and loss.reduction == "mean":
        return "mse"
    raise c.Unsupported(f"loss is {loss!r}; expected " + ", ".join(map(repr, LOSSES)) +
                        ", torch.nn.CrossEntropyLoss() or torch.nn.MSELoss(), with their default settings")


def optimizer_settings(optimizer: Optimizer) -> Dict[str, Any]:
    """Return an optimizer as options of `TrainingSession`."""
    if isinstance(optimizer, str):
        if optimizer not in OPTIMIZERS:
            raise c.InvalidArgument(f"optimizer is {optimizer!r}; expected {', '.join(OPTIMIZERS)}, or one of torch.optim")
        return {"optimizer": optimizer}
    name = type(optimizer).__name__.lower()
    if name not in _FIXED or len(optimizer.param_groups) != 1:
        raise c.Unsupported(f"optimizer is {type(optimizer).__name__} with {len(optimizer.param_groups)} groups; expected "
                            "SGD, Adam or AdamW with one group of parameters")
    group = optimizer.param_groups[0]
    for setting, value in _FIXED[name].items():
        if group.get(setting, value) != value:
            raise c.Unsupported(f"optimizer: {setting} is {group[setting]!r}, expected {value!r}")
    if optimizer.state:
        raise c.Unsupported("optimizer: it has made steps, whose moments are not taken over; expected a new one")
    settings = {"optimizer": name, "weight_decay": float(group["weight_decay"])}
    if name == "sgd":
        settings.update(momentum=float(group["momentum"]), nesterov=bool(group["nesterov"]))
    return settings


def training_session(module: torch.nn.Module, x: torch.Tensor, loss: Loss, optimizer: Optimizer,
                     **options: Any) -> Tuple[TrainingSession, Dict[str, str]]:
    """Plan the training of a module with one input and one output.

    The trained parameters have arbitrary values. Their states are by name.
    """
    for name, part in module.named_modules():
        if isinstance(part, torch.nn.modules.dropout._DropoutNd) and part.p > 0:
            raise c.Unsupported(f"'{name}' drops values at random, which a step does not; set its p to 0")
        if isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.momentum != _BATCH_NORM_MOMENTUM:
            raise c.Unsupported(f"'{name}': momentum is {part.momentum}, expected {_BATCH_NORM_MOMENTUM}")
    twin = copy.deepcopy(module).eval()  # evaluation mode keeps batch norms in the graph
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for parameter in twin.parameters():
            if parameter.requires_grad:  # values that tell parameters apart
                parameter.copy_(torch.rand(parameter.shape, generator=generator))
        for part in twin.modules():
            # So that no equal constant, such as a bias of zeros, is merged with statistics.
            if (isinstance(part, torch.nn.modules.batchnorm._BatchNorm) and part.running_mean is not None and part.affine and
                    part.weight.requires_grad and part.bias.requires_grad and not options.get("frozen_batch_norm")):
                part.running_mean.copy_(torch.rand(part.running_mean.shape, generator=generator))
    model, signature = export(twin, (x,), train=True)
    if len(signature.inputs) != 1 or len(signature.outputs) != 1:
        raise c.Unsupported(f"{type(module).__name__} has {len(signature.outputs)} results; a step trains modules with one")
    settings = {**optimizer_settings(optimizer), **options}
    frozen = {name for name, parameter in twin.named_parameters() if not parameter.requires_grad}
    session, names = _create(model, twin, frozen, loss=loss_name(loss), **settings)
    again = {names[name] for name in frozen & set(names)}  # the graph has them under other names
    # The exporter adds biases of zeros, which are no parameters.
    again |= {state for state in session.states if not state.endswith(MOMENTS)} - set(names.values()) - {n for n, _ in twin.named_buffers()}
    if again:
        session, names = _create(model, twin, frozen | again, loss=loss_name(loss), **settings)
    for name, parameter in twin.named_parameters():
        if parameter.requires_grad and name not in names:
            raise c.Unsupported(f"'{name}' cannot be trained; parameters of convolutions, products, layer and batch norms can")
    return session, names


def _create(model: Model, module: torch.nn.Module, frozen: Set[str], **options: Any) -> Tuple[TrainingSession, Dict[str, str]]:
    """Create a training, and find the states of parameters: by name, otherwise by value.

    Biases of convolutions have other names, and more axes.
    """
    freeze = f"^({'|'.join(map(re.escape, sorted(frozen)))})$" if frozen else None
    session = TrainingSession(model, freeze=freeze, **options)
    others = {session.read(name).tobytes(): name for name in session.states if not name.endswith(MOMENTS)}
    names = {}
    for name, parameter in module.named_parameters():
        state = name if name in session.states else others.get(_array(parameter).tobytes())
        if state is not None and session.states[state].bytes == parameter.nbytes:
            names[name] = state
    return session, names


class TrainingStep:
    """Train a module, a step a call: ``loss = step(x, target)``.

    Parameters, statistics and moments are in the library's memory, which is known before the first
    step. `copy_to_module` writes parameters and statistics back.

    Parameters
    ----------
    module : torch.nn.Module
        With one input and one result, without dropout.
    loss : {"cross-entropy", "mse"} or torch.nn.CrossEntropyLoss or torch.nn.MSELoss
    optimizer : {"sgd", "adam", "adamw"} or torch.optim.Optimizer
        An optimizer of PyTorch gives its settings, and at each step its learning rate. So its
        schedulers work.
    lr : float, optional
        The learning rate, if `optimizer` is a name.
    budget : int or str, optional
        Limit on the arena, as of `Model.plan`: the step recomputes as much as it requires.
    x : tensor, optional
        An example input. Then the step is planned now, otherwise at its first call.
    **options
        Further options of `TrainingSession`.
    """

    def __init__(self, module: torch.nn.Module, loss: Loss, optimizer: Optimizer = "sgd", lr: Optional[float] = None,
                 budget: Union[int, str, None] = None, x: Optional[torch.Tensor] = None, **options: Any) -> None:
        if isinstance(optimizer, str) == (lr is None):
            raise c.InvalidArgument("lr: expected a number if the optimizer is a name, and none for one of torch.optim")
        self.module, self.lr = module, lr
        self._loss, self._optimizer = loss, optimizer
        self._options: Dict[str, Any] = {"budget": budget, **options}
        self._session: Optional[TrainingSession] = None
        self._names: Dict[str, str] = {}  # states of parameters
        loss_name(loss)
        optimizer_settings(optimizer)
        if x is not None:
            self._plan(x)

    def _plan(self, x: torch.Tensor) -> TrainingSession:
        if self._session is None:
            self._session, self._names = training_session(self.module, x, self._loss, self._optimizer, **self._options)
            self.copy_from_module()
        return self._session

    @property
    def session(self) -> TrainingSession:
        """The training, after it was planned."""
        if self._session is None:
            raise c.NotBound("the step has no plan yet; give an example input x, or call the step")
        return self._session

    @property
    def memory(self) -> Memory:
        """The memory of a step, after it was planned."""
        return self.session.memory

    def __call__(self, x: torch.Tensor, target: torch.Tensor) -> float:
        """Run one step, and return the loss before the update."""
        session = self._plan(x)
        rate = self.lr if isinstance(self._optimizer, str) else float(self._optimizer.param_groups[0]["lr"])
        if target.dtype is torch.int64:
            target = target.to(torch.int32)
        return session.step(_array(x), _array(target), rate)  # type: ignore[arg-type]

    def evaluate(self, x: torch.Tensor) -> torch.Tensor:
        """Return the module's result with the current parameters, in evaluation mode."""
        return torch.from_numpy(self.session.evaluate(_array(x)))

    def copy_to_module(self) -> None:
        """Copy parameters and running statistics into the module's tensors."""
        with torch.no_grad():
            for state, tensor in self._tensors():
                tensor.copy_(torch.from_numpy(self.session.read(state)).view_as(tensor))
            for name, buffer in self.module.named_buffers():
                if name.endswith("num_batches_tracked"):
                    buffer.fill_(self.session.steps)

    def copy_from_module(self) -> None:
        """Copy the module's parameters and running statistics into the training."""
        for state, tensor in self._tensors():
            self.session.write(state, _array(tensor).reshape(self.session.states[state].shape))

    def _tensors(self) -> List[Tuple[str, torch.Tensor]]:
        """Return the module's tensors that are states, with the states' names."""
        named = [(self._names.get(name), parameter) for name, parameter in self.module.named_parameters()]
        named += [(name if name in self.session.states else None, buffer) for name, buffer in self.module.named_buffers()]
        return [(state, tensor) for state, tensor in named if state is not None]


def _array(tensor: torch.Tensor) -> Any:
    return as_numpy(tensor.detach().contiguous())
