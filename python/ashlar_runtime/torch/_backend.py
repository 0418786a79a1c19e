"""The backend "ashlar" of torch.compile, by the entry point group torch_dynamo_backends.

Each graph is compiled at its first call with given shapes. What cannot be taken runs in eager mode;
the logger `ashlar_runtime.torch` says why at level INFO, which TORCH_LOGS=ashlar_runtime.torch
shows.
"""
from __future__ import annotations

import logging
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple

import torch

from .. import _library as c
from ._compile import Compiled
from ._export import export

LOG = logging.getLogger("ashlar_runtime.torch")
MOST_SHAPES = 8  # plans of one graph


def backend(graph: torch.fx.GraphModule, examples: List[Any], options: Optional[Mapping[str, Any]] = None, **_: Any) -> Callable[..., Any]:
    """Return a function that runs the graph in plans of `options`, which are `Model.plan`'s."""
    del examples  # the first call has the real ones
    return _Graph(graph, dict(options or {}))


class _OfTensors(torch.nn.Module):  # type: ignore[misc]
    """A graph as a function of the inputs that are neither weights nor numbers."""

    def __init__(self, graph: torch.fx.GraphModule, args: Tuple[Any, ...], varying: List[int]) -> None:
        super().__init__()
        self._graph, self._args, self._varying = graph, args, varying
        for place, value in enumerate(args):
            if isinstance(value, torch.Tensor) and place not in varying:
                # The same memory; a buffer has no gradient.
                self.register_buffer(f"weight{place}", value.detach())

    def forward(self, *given: Any) -> Any:
        args = list(self._args)
        for place in range(len(args)):
            args[place] = getattr(self, f"weight{place}", args[place])
        for place, value in zip(self._varying, given):
            args[place] = value
        return self._graph(*args)


class _Graph:
    """A graph of torch.compile: a plan for each combination of shapes, or the reason for none."""

    def __init__(self, graph: torch.fx.GraphModule, options: Dict[str, Any]) -> None:
        self._graph, self._options = graph, options
        self._weights = [place for place, node in enumerate(n for n in graph.graph.nodes if n.op == "placeholder")
                         if _is_weight(node)]
        self._plans: Dict[Any, Optional[Compiled]] = {}
        self._seen: Any = None  # addresses and versions of the weights in the plans
        self._said: Set[str] = set()

    def __call__(self, *args: Any) -> Any:
        if torch.is_grad_enabled() and any(isinstance(x, torch.Tensor) and x.requires_grad for x in args):
            self._say("gradients are wanted; call it under torch.no_grad()")
            return self._graph(*args)
        varying = [place for place, x in enumerate(args) if isinstance(x, torch.Tensor) and place not in self._weights]
        # Weights that were changed in place or replaced are taken anew.
        held = [args[place] for place in self._weights] + list(self._graph.state_dict(keep_vars=True).values())
        weights = [(x.data_ptr(), 0 if x.is_inference() else x._version) for x in held]
        if weights != self._seen:
            self._seen, self._plans = weights, {}
        key = tuple((tuple(x.shape), x.dtype) if place in varying else None if place in self._weights else x
                    for place, x in enumerate(args))
        if key not in self._plans:
            self._plans[key] = self._compile(args, varying)
        compiled = self._plans[key]
        return self._graph(*args) if compiled is None else compiled(*(args[place] for place in varying))

    def _compile(self, args: Tuple[Any, ...], varying: List[int]) -> Optional[Compiled]:
        if len(self._plans) >= MOST_SHAPES:
            self._say(f"it has had {MOST_SHAPES} combinations of shapes")
            return None
        inputs = tuple(args[place] for place in varying)
        try:
            return Compiled(*export(_OfTensors(self._graph, args, varying).eval(), inputs), **self._options)
        except (c.InvalidArgument, c.DoesNotFit):
            raise  # the options are the caller's
        except c.Error as error:
            self._say(str(error).partition("\n")[0])
            return None

    def _say(self, why: str) -> None:
        """Log one line, once for each reason."""
        if why in self._said:
            return
        self._said.add(why)
        operators = sum(node.op.startswith("call") for node in self._graph.graph.nodes)
        LOG.info("a graph of %d operators runs in eager mode: %s", operators, why)


def _is_weight(node: torch.fx.Node) -> bool:
    """Return whether a placeholder is a parameter or buffer of the user's module."""
    source = getattr(node, "_dynamo_source", None) or getattr(node.meta.get("grapharg"), "source", None)
    guarded = getattr(source, "guard_source", None)
    guarded = guarded() if callable(guarded) else guarded
    return guarded is not None and bool(guarded.is_unspecialized_nn_module() or guarded.is_specialized_nn_module())
