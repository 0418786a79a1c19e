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

# Numbers of fields in onnx.proto.
_MODEL_GRAPH, _GRAPH_INITIALIZER, _TENSOR_RAW_DATA = 7, 5, 9
_ALIGNMENT = 64


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
            converted: Any = torch.onnx.export(program, (), dynamo=True, optimize=not train, verbose=False)
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
    return Model._in_block(_serialize(converted)), Signature(inputs, results, program.call_spec.in_spec, structure)


def _varint(value: int) -> bytes:
    """Encode an integer as protobuf does."""
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes(parts + [value])


def _head(number: int, size: int) -> bytes:
    """Return the bytes before the content of a field with `size` bytes."""
    return _varint(number << 3 | 2) + _varint(size)


def _serialize(program: Any) -> "np.ndarray[Any, Any]":
    """Serialize an ONNXProgram, whose weights are taken out of it.

    Each weight is copied once, from the module's own memory. protobuf itself would copy all weights
    three times.
    """
    graph = program.model.graph
    weights = [(name, graph.initializers.pop(name).const_value) for name in list(graph.initializers)]
    model = program.model_proto
    outputs: Dict[str, Any] = {output.name: output for output in model.graph.output}  # each only once
    del model.graph.output[:]
    model.graph.output.extend(outputs.values())
    pieces: List[Any] = [model.graph.SerializeToString()]
    for name, tensor in weights:
        data = np.ascontiguousarray(tensor.numpy()).reshape(-1).view(np.uint8)
        head = onnx.TensorProto(name=name, dims=list(tensor.shape), data_type=int(tensor.dtype)).SerializeToString()
        head += _head(_TENSOR_RAW_DATA, data.nbytes)
        pieces += [_head(_GRAPH_INITIALIZER, len(head) + data.nbytes) + head, data]
    model.ClearField("graph")
    pieces = [model.SerializeToString(), _head(_MODEL_GRAPH, sum(len(piece) for piece in pieces))] + pieces
    size = sum(len(piece) for piece in pieces)
    block = aligned_block(size, _ALIGNMENT)[:size]
    at = 0
    for piece in pieces:
        block[at:at + len(piece)] = piece if isinstance(piece, np.ndarray) else np.frombuffer(piece, np.uint8)
        at += len(piece)
    return block
