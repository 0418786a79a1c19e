"""Compiles a PyTorch module for arguments of given shapes: a plan, and a session of it."""
from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import torch
from torch.utils import _pytree as pytree

from .. import _library as c
from .._model import Model, Plan
from .._tensors import Memory, TensorInfo, is_bfloat16
from ._export import Result, Signature, export


def torch_dtype(info: TensorInfo) -> torch.dtype:
    """Return the dtype of an input or output."""
    dtype: torch.dtype = torch.bfloat16 if is_bfloat16(info.dtype) else getattr(torch, info.dtype.name)
    return dtype


def as_numpy(tensor: torch.Tensor) -> Any:
    """Return a contiguous tensor's memory as an array; numpy has no bfloat16."""
    return (tensor.view(torch.uint16) if tensor.dtype is torch.bfloat16 else tensor).numpy()


class Compiled:
    """A module's function in one plan. Call it as the module; it returns new tensors.

    Create it with `compile`. The weights are those at that time. Results have no gradients.

    Attributes
    ----------
    plan : Plan
    memory : Memory
    """

    def __init__(self, model: Model, signature: Signature, **options: Any) -> None:
        self._signature = signature
        self.plan: Plan = model.plan(**options)
        self.memory: Memory = self.plan.memory
        self._infos = {info.name: info for info in self.plan.inputs}
        self._results = [(info, self._torch_dtype(info)) for info in self.plan.outputs]
        self.plan.load()
        self.plan._release_model()  # the packed weights suffice
        self._session = self.plan.session()

    def _torch_dtype(self, info: TensorInfo) -> torch.dtype:
        """Return the dtype of an output, which must be the module's."""
        got, expected = torch_dtype(info), next(
            output.dtype for output in self._signature.outputs if isinstance(output, Result) and output.name == info.name)
        if got != expected:
            raise c.Unsupported(f"output '{info.name}': the plan computes {got}, expected {expected} as in PyTorch")
        return got

    def _leaves(self, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> List[Any]:
        """Flatten arguments of the same structure as the example's."""
        expected = self._signature.in_spec
        names = list(expected.children()[1].context) if kwargs else []
        if set(names) == set(kwargs):
            kwargs = {name: kwargs[name] for name in names}
        leaves: List[Any]
        leaves, spec = pytree.tree_flatten((args, kwargs))
        if spec != expected:
            raise c.InvalidArgument(f"arguments: got the structure {spec}, expected {expected}")
        return leaves

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given: Dict[str, Any] = {}
        for place, (leaf, wanted) in enumerate(zip(self._leaves(args, kwargs), self._signature.inputs)):
            if wanted.name is None:
                if leaf != wanted.value:
                    raise c.InvalidArgument(f"argument {place} is {leaf!r}; the module was compiled for {wanted.value!r}")
            elif wanted.name in self._infos:
                given[wanted.name] = self._checked(self._infos[wanted.name], leaf)
        results = {info.name: torch.empty(info.shape, dtype=dtype) for info, dtype in self._results}
        self._session(given, out={name: as_numpy(tensor) for name, tensor in results.items()})
        return pytree.tree_unflatten(
            [results[output.name] if isinstance(output, Result) else output for output in self._signature.outputs],
            self._signature.out_spec)

    @staticmethod
    def _checked(info: TensorInfo, leaf: Any) -> Any:
        """Return a tensor's memory after checking its dtype and shape."""
        expected = torch_dtype(info)
        if not isinstance(leaf, torch.Tensor):
            raise c.InvalidArgument(f"input '{info.name}': got {type(leaf).__name__}, expected a tensor")
        if leaf.dtype != expected or tuple(leaf.shape) != info.shape or leaf.device.type != "cpu":
            raise c.InvalidArgument(f"input '{info.name}': got {leaf.dtype}{list(leaf.shape)} on {leaf.device}, expected "
                                    f"{expected}{list(info.shape)} on cpu")
        return as_numpy(leaf.detach().contiguous())

    def __repr__(self) -> str:
        return f"Compiled({self._session!r})"


def compile(module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Optional[Mapping[str, Any]] = None, *,
            budget: Union[int, str, None] = None, threads: int = 0, precision: Optional[str] = None, **plan: Any) -> Compiled:
    """Compile a module for arguments of these shapes.

    Parameters
    ----------
    module : torch.nn.Module
        In evaluation mode.
    args : tuple
        Example arguments. Only their shapes and dtypes matter, and the values of all that are no
        tensors.
    kwargs : mapping, optional
        Example keyword arguments.
    budget, threads, precision
        See `Model.plan`.
    **plan
        Further options of `Model.plan`.

    Returns
    -------
    Compiled

    Raises
    ------
    Unsupported
        If PyTorch cannot export the module, or there is no kernel for an operator.
    DoesNotFit
        If no plan fits the budget.
    """
    if not isinstance(args, tuple):
        raise c.InvalidArgument(f"args is a {type(args).__name__}; expected a tuple, such as (x,)")
    if module.training:
        raise c.InvalidArgument(f"{type(module).__name__} is in training mode; call module.eval() first")
    return Compiled(*export(module, args, kwargs), budget=budget, threads=threads, precision=precision, **plan)
