"""Converts a PyTorch module to an ONNX model in memory, by torch.export and torch's own exporter."""
from __future__ import annotations

import warnings
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

import numpy as np
import onnx
import torch
from torch.export.graph_signature import InputKind, OutputKind, TensorArgument
from torch.utils import _pytree as pytree

from .. import _library as c
from .._model import Model
from .._tensors import aligned_block

_ALIGNMENT = 64
_INSIDE = 64  # bytes: smaller weights are in the model itself


class Input(NamedTuple):
    """A leaf of the arguments: a tensor with its name in the model, or a constant."""
    name: Optional[str]
    value: Any  # of a constant


class Output(NamedTuple):
    """A leaf of the result."""
    constant: bool
    value: Any  # of a constant


class Result(NamedTuple):
    """A tensor of the result: its name in the model."""
    name: str
    dtype: torch.dtype


class Signature(NamedTuple):
    """The leaves of a module's arguments and result, in order, and their structure."""
    inputs: List[Input]
    outputs: List[Any]  # Result, or a constant
    in_spec: Any  # of (args, kwargs)
    out_spec: Any


def export(module: torch.nn.Module, args: Tuple[Any, ...], kwargs: Optional[Mapping[str, Any]] = None,
           train: bool = False) -> Tuple[Model, Signature]:
    """Export a module for arguments of these shapes.

    With `train`, batch norms stay and weights have the names of parameters; the result must be one
    tensor. Unsupported if PyTorch cannot export the module, or if it changes buffers or inputs.
    """
    name = type(module).__name__
    leaves: List[Any] = []  # of the result: its structure, then its constants, None for tensors

    class OnlyTensors(torch.nn.Module):  # type: ignore[misc]
        """Returns the tensors of a result alone: the exporter refuses other values."""

        def __init__(self) -> None:
            super().__init__()
            self.inner = module

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            values, structure = pytree.tree_flatten(self.inner(*args, **kwargs))
            leaves[:] = [structure, *(Output(not isinstance(x, torch.Tensor), None if isinstance(x, torch.Tensor) else x) for x in values)]
            return tuple(x for x in values if isinstance(x, torch.Tensor))

    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            exported = module if train else OnlyTensors().eval()
            program = torch.export.export(exported, args, dict(kwargs or {}))
            converted: Any = torch.onnx.export(program, (), dynamo=True, optimize=False, verbose=False)
            weights = list(converted.model.graph.initializers.values())
            if not train:
                converted.optimize()
            program = converted.exported_program  # without operators that change tensors in place
    except Exception as error:  # of many kinds, by torch's version
        text = str(error.__cause__ or error).strip().partition("\n")[0]
        raise c.Unsupported(f"PyTorch cannot export {name} to ONNX: {type(error).__name__}: {text}") from error
    signature = program.graph_signature
    for spec in signature.output_specs:
        if spec.kind is not OutputKind.USER_OUTPUT:
            raise c.Unsupported(f"{name} changes '{spec.target}' ({spec.kind.name}); only its result may depend on a run")
    inputs = [Input(spec.arg.name, None) if isinstance(spec.arg, TensorArgument) else Input(None, getattr(spec.arg, "value", None))
              for spec in signature.input_specs if spec.kind is InputKind.USER_INPUT]
    names = [value.name for value in converted.model.graph.outputs]
    if len(names) != len(signature.output_specs):
        raise c.Unsupported(f"{name}: the ONNX model has {len(names)} outputs, expected {len(signature.output_specs)}")
    # The dtypes of the result's tensors, in order.
    tensors = iter(Result(result, node.meta["val"].dtype) for result, node in zip(names, program.graph.output_node().args[0]))
    if train:
        structure, results = program.call_spec.out_spec, list(tensors)
    else:
        structure, results = leaves[0], [leaf.value if leaf.constant else next(tensors) for leaf in leaves[1:]]
    content, files = _split(converted)
    for value in weights:
        value.const_value = None  # the rewriter of onnxscript keeps its last graph
    return Model._in_block(content, files), Signature(inputs, results, program.call_spec.in_spec, structure)


def _split(program: Any) -> Tuple["np.ndarray[Any, Any]", Dict[str, "np.ndarray[Any, Any]"]]:
    """Return an ONNXProgram without its weights, and these as files, in the module's own memory."""
    graph = program.model.graph
    weights = []
    for name in list(graph.initializers):
        value = graph.initializers.pop(name)
        weights.append((name, value.const_value))
        value.const_value = None
    model = program.model_proto
    outputs: Dict[str, Any] = {output.name: output for output in model.graph.output}  # each only once
    del model.graph.output[:]
    model.graph.output.extend(outputs.values())
    files = {}
    for name, tensor in weights:
        proto = model.graph.initializer.add(name=name, dims=list(tensor.shape), data_type=int(tensor.dtype))
        values = np.ascontiguousarray(tensor.numpy())
        if values.nbytes <= _INSIDE:
            proto.raw_data = values.tobytes()
            continue
        files[name] = values
        proto.data_location = onnx.TensorProto.EXTERNAL
        proto.external_data.add(key="location", value=name)
    content = model.SerializeToString()
    block = aligned_block(len(content), _ALIGNMENT)[:len(content)]
    block[:] = np.frombuffer(content, np.uint8)
    return block, files
