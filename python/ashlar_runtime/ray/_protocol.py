"""The Open Inference Protocol, version 2, and its extension for binary tensors: encodes and decodes
requests and responses.

https://github.com/kserve/open-inference-protocol, and "Binary Tensor Data Extension" of Triton's
documentation.
"""
from __future__ import annotations

import json
import math
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .._tensors import TensorInfo, is_bfloat16

Arrays = Dict[str, "np.ndarray[Any, Any]"]

HEADER_LENGTH = "Inference-Header-Content-Length"
# By numpy's names.
DATATYPES = {"float32": "FP32", "float16": "FP16", "int64": "INT64", "int32": "INT32", "int16": "INT16", "int8": "INT8",
             "uint64": "UINT64", "uint32": "UINT32", "uint16": "UINT16", "uint8": "UINT8", "bool": "BOOL", "float64": "FP64"}
BINARY_ONLY = {"FP16", "BF16"}  # no numbers in JSON


class Refused(Exception):
    """A request that cannot be served, with its HTTP status."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Request(NamedTuple):
    id: Optional[str]
    inputs: Arrays
    outputs: List[Tuple[str, bool]]  # name, and whether to send it as binary data


def _datatype(dtype: "np.dtype[Any]") -> str:
    return "BF16" if is_bfloat16(dtype) else DATATYPES[dtype.name]


def datatype(info: TensorInfo) -> str:
    return _datatype(info.dtype)


def _json(body: bytes) -> Dict[str, Any]:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as error:  # also for invalid Unicode
        raise Refused(f"the request is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise Refused("the request is no JSON object")
    return value


def _list(value: Mapping[str, Any], key: str) -> List[Dict[str, Any]]:
    entries = value.get(key, [])
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise Refused(f"'{key}' is no list of objects")
    return entries


def _parameters(value: Mapping[str, Any]) -> Dict[str, Any]:
    parameters = value.get("parameters") or {}
    if not isinstance(parameters, dict):
        raise Refused("'parameters' is no object")
    return parameters


def _shape(entry: Mapping[str, Any], info: TensorInfo, rows: Optional[int]) -> Tuple[int, ...]:
    """Check the shape of an input. `rows`: the largest batch size; None: the planned shape."""
    shape = entry.get("shape")
    if not isinstance(shape, list) or not all(type(size) is int and size >= 0 for size in shape):
        raise Refused(f"input '{info.name}': no shape")
    expected = list(info.shape) if rows is None else [-1, *info.shape[1:]]
    if len(shape) != len(expected) or any(e not in (-1, s) for e, s in zip(expected, shape)):
        raise Refused(f"input '{info.name}': got shape {shape}, expected {expected}")
    if rows is not None and not 1 <= shape[0] <= rows:
        raise Refused(f"input '{info.name}': got {shape[0]} rows, expected 1 to {rows}")
    return tuple(shape)


def _from_binary(info: TensorInfo, shape: Tuple[int, ...], data: bytes) -> "np.ndarray[Any, Any]":
    if len(data) != math.prod(shape) * info.dtype.itemsize:
        raise Refused(f"input '{info.name}': got {len(data)} bytes, expected {math.prod(shape) * info.dtype.itemsize}")
    bytes_as = np.dtype(np.uint8) if info.dtype == np.bool_ else info.dtype.newbyteorder("<")
    array: "np.ndarray[Any, Any]" = np.frombuffer(data, bytes_as).reshape(shape)
    return array != 0 if info.dtype == np.bool_ else array.astype(info.dtype, copy=False)


def _from_json(info: TensorInfo, shape: Tuple[int, ...], data: Any) -> "np.ndarray[Any, Any]":
    if datatype(info) in BINARY_ONLY:
        raise Refused(f"input '{info.name}': {datatype(info)} has no numbers in JSON; send binary data")
    try:
        values = np.array(data)
        if values.dtype.kind not in ("biuf" if info.dtype.kind == "f" else "b" if info.dtype.kind == "b" else "iu"):
            raise ValueError(f"{values.dtype} is not {info.dtype}")
        if info.dtype.kind in "iu" and values.size and not (np.iinfo(info.dtype).min <= values.min() and
                                                            values.max() <= np.iinfo(info.dtype).max):
            raise ValueError(f"a value is out of {info.dtype}'s range")
        with np.errstate(over="ignore"):
            converted = values.astype(info.dtype)
        if info.dtype.kind == "f" and (np.isfinite(values) & ~np.isfinite(converted)).any():
            raise ValueError(f"a value is infinite as {info.dtype}")
        return np.ascontiguousarray(converted.reshape(shape))
    except (TypeError, ValueError, OverflowError) as error:
        raise Refused(f"input '{info.name}': data is not {datatype(info)}{list(shape)}: {error}") from error


def decode(body: bytes, header: Optional[str], inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo],
           rows: Optional[int]) -> Request:
    """Decode the body of a request.

    `header` is the value of HEADER_LENGTH. Binary data follow the JSON in the order of the inputs.
    """
    length = len(body)
    if header is not None:
        if not header.isascii() or not header.isdigit() or len(header) > 18 or int(header) > len(body):
            raise Refused(f"{HEADER_LENGTH} is {header[:32]!r}; the body has {len(body)} bytes")
        length = int(header)
    request = _json(body[:length])
    infos = {info.name: info for info in inputs}
    arrays: Arrays = {}
    for entry in _list(request, "inputs"):
        info = infos.get(str(entry.get("name")))
        if info is None or info.name in arrays:
            raise Refused(f"input {entry.get('name')!r}: expected once each: " + ", ".join(infos))
        if entry.get("datatype") != datatype(info):
            raise Refused(f"input '{info.name}': got datatype {entry.get('datatype')!r}, expected '{datatype(info)}'")
        shape = _shape(entry, info, rows)
        size = _parameters(entry).get("binary_data_size")
        if size is None:
            arrays[info.name] = _from_json(info, shape, entry.get("data"))
            continue
        if type(size) is not int or not 0 <= size <= len(body) - length:
            raise Refused(f"input '{info.name}': binary_data_size is {size!r}; {len(body) - length} bytes are left")
        arrays[info.name] = _from_binary(info, shape, body[length:length + size])
        length += size
    if missing := [name for name in infos if name not in arrays]:
        raise Refused("inputs are missing: " + ", ".join(missing))
    if length != len(body):
        raise Refused(f"{len(body) - length} bytes after the last input")
    if rows is not None and len({array.shape[0] for array in arrays.values()}) > 1:
        raise Refused("inputs of different numbers of rows")
    identity = request.get("id")
    return Request(None if identity is None else str(identity), arrays, _wanted(request, outputs))


def _wanted(request: Mapping[str, Any], outputs: Sequence[TensorInfo]) -> List[Tuple[str, bool]]:
    """Return the requested outputs; all outputs if none is named."""
    binary = _parameters(request).get("binary_data_output") is True
    entries = _list(request, "outputs") or [{"name": info.name} for info in outputs]
    wanted = []
    for entry in entries:
        if entry.get("name") not in [info.name for info in outputs]:
            raise Refused(f"no output {entry.get('name')!r}; the model has: " + ", ".join(info.name for info in outputs))
        wanted.append((entry["name"], _parameters(entry).get("binary_data", binary) is True))
    return wanted


def encode(model: str, version: str, request: Request, results: Mapping[str, Any]) -> Tuple[bytes, Dict[str, str]]:
    """Return the body of a response, and its headers."""
    entries: List[Dict[str, Any]] = []
    blobs: List[bytes] = []
    for name, binary in request.outputs:
        array = np.ascontiguousarray(results[name])
        kind = _datatype(array.dtype)
        entry: Dict[str, Any] = {"name": name, "datatype": kind, "shape": list(array.shape)}
        if binary:
            blobs.append(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes())
            entry["parameters"] = {"binary_data_size": len(blobs[-1])}
        elif kind in BINARY_ONLY:
            raise Refused(f"output '{name}': {kind} has no numbers in JSON; ask for binary data")
        else:
            entry["data"] = array.ravel().tolist()
        entries.append(entry)
    response: Dict[str, Any] = {"model_name": model, "model_version": version, "outputs": entries}
    if request.id is not None:
        response["id"] = request.id
    head = json.dumps(response, separators=(",", ":")).encode()
    if not blobs:
        return head, {"Content-Type": "application/json"}
    return b"".join([head, *blobs]), {"Content-Type": "application/octet-stream", HEADER_LENGTH: str(len(head))}


def metadata(model: str, version: str, inputs: Sequence[TensorInfo], outputs: Sequence[TensorInfo], batched: bool) -> Dict[str, Any]:
    """Return the metadata of a model; the size of a batch is -1."""

    def tensor(info: TensorInfo) -> Dict[str, Any]:
        return {"name": info.name, "datatype": datatype(info), "shape": [-1, *info.shape[1:]] if batched else list(info.shape)}

    return {"name": model, "versions": [version], "platform": "ashlar", "inputs": [tensor(info) for info in inputs],
            "outputs": [tensor(info) for info in outputs]}
