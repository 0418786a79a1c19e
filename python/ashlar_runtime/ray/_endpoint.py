"""A replica that answers requests of the Open Inference Protocol (v2), with JSON or binary tensors.
"""
from __future__ import annotations

import asyncio
import concurrent.futures
import json
import time
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

import numpy as np
from ray import serve
from ray.util.metrics import Counter, Gauge
from starlette.requests import Request
from starlette.responses import Response

from .._buckets import Buckets
from .._library import LIBRARY, InvalidArgument
from ._packed import buckets_on_node
from ._protocol import HEADER_LENGTH, Arrays, Refused, decode, encode, metadata
from ._worker import Batch, Path

VERSION = "1"  # the only version of the model


def library_version() -> str:
    version = LIBRARY.ashlar_version()
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"


class _Metrics:
    """Metrics, collected through Ray."""

    def __init__(self, model: str) -> None:
        self._tags = {"model": model}
        self._arena = self._gauge("ashlar_arena_bytes", "planned: intermediate values of a run")
        self._weights = self._gauge("ashlar_weights_bytes", "planned: weights, in memory or in the page cache")
        self._seconds = self._gauge("ashlar_run_seconds", "of the last run")
        self._runs = Counter("ashlar_runs", description="runs so far", tag_keys=("model",))
        self._rows = Counter("ashlar_rows", description="rows of requests that were run so far", tag_keys=("model",))

    def _gauge(self, name: str, description: str) -> Gauge:
        return Gauge(name, description=description, tag_keys=("model",))

    def planned(self, buckets: Buckets) -> None:
        self._arena.set(buckets.arena, self._tags)
        self._weights.set(buckets.weights, self._tags)

    def ran(self, rows: int, seconds: float) -> None:
        self._seconds.set(seconds, self._tags)
        self._runs.inc(1, self._tags)
        self._rows.inc(rows, self._tags)


class Endpoint:
    """An endpoint for one model.

    Requests that wait at the same time run together, in the smallest planned batch size that holds
    them.
    """

    def __init__(self, model: Path, name: str, batch: Batch, pack: bool, folder: Optional[Path], plan: Mapping[str, Any]) -> None:
        self._name = name
        self._buckets = buckets_on_node(model, batch, plan, pack, folder)
        plans = self._buckets.plans
        self._rows = None if batch is None else max(plans)  # or None: one request a run
        largest = plans[max(plans)]
        self._inputs, self._outputs = largest.inputs, largest.outputs
        # One thread at a time may use a session.
        self._thread = concurrent.futures.ThreadPoolExecutor(1)
        self._metrics = _Metrics(name)
        self._metrics.planned(self._buckets)

    def _run(self, inputs: Arrays) -> Arrays:
        begin = time.perf_counter()
        results = self._buckets(inputs) if self._rows is not None else next(iter(self._buckets.sessions.values()))(inputs)
        rows = next(iter(inputs.values())).shape[0] if self._rows is not None and inputs else 1
        self._metrics.ran(rows, time.perf_counter() - begin)
        return results if isinstance(results, dict) else {self._outputs[0].name: results}

    def _run_together(self, requests: List[Arrays]) -> List[Arrays]:
        """Run neighbouring requests together, as far as the largest batch size holds them."""
        results: List[Arrays] = []
        while len(results) < len(requests):
            some = requests[len(results):len(results) + self._how_many(requests[len(results):])]
            if len(some) == 1:
                results.append(self._run(some[0]))
                continue
            together = self._run({name: np.concatenate([one[name] for one in some]) for name in some[0]})
            begin = 0
            for one in some:
                end = begin + next(iter(one.values())).shape[0]
                results.append({name: array[begin:end] for name, array in together.items()})
                begin = end
        return results

    def _how_many(self, requests: List[Arrays]) -> int:
        rows = 0
        for count, one in enumerate(requests):
            rows += next(iter(one.values())).shape[0] if self._rows is not None else 1
            if rows > (self._rows or 1):
                return max(count, 1)
        return len(requests)

    @serve.batch
    async def _infer(self, requests: List[Arrays]) -> List[Arrays]:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run_together, requests)

    def reconfigure(self, config: Mapping[str, Any]) -> None:
        """Set the largest number of requests of a run, and the longest wait of the first of them.
        """
        self._infer.set_max_batch_size(config["requests"])  # type: ignore[attr-defined]
        self._infer.set_batch_wait_timeout_s(config["wait_s"])  # type: ignore[attr-defined]

    async def __call__(self, request: Request) -> Response:
        try:
            return await self._answer(request)
        except Refused as error:
            return _json({"error": str(error)}, error.status)
        except InvalidArgument as error:
            return _json({"error": str(error)}, 400)

    async def _answer(self, request: Request) -> Response:
        path = request.url.path.removeprefix(request.scope.get("root_path", "")).strip("/").split("/")
        if path[:2] == ["v2", "models"] and len(path) > 2:
            return await self._about_model(request, path[2:])
        if request.method != "GET":
            raise Refused(f"{request.method} is not for this address", 405)
        if path == ["v2"]:
            return _json({"name": "ashlar", "version": library_version(), "extensions": ["binary_tensor_data"]})
        if path in (["v2", "health", "live"], ["v2", "health", "ready"]):
            return Response()
        raise Refused(f"no such address: {request.url.path}", 404)

    async def _about_model(self, request: Request, path: List[str]) -> Response:
        name, *rest = path
        if name != self._name:
            raise Refused(f"no model '{name}'; there is '{self._name}'", 404)
        if rest[:1] == ["versions"]:
            if rest[1:2] != [VERSION]:
                raise Refused(f"no such version of '{name}'; there is {VERSION}", 404)
            rest = rest[2:]
        methods: Dict[Tuple[str, ...], str] = {(): "GET", ("ready",): "GET", ("infer",): "POST"}
        if tuple(rest) not in methods:
            raise Refused(f"no such address: {request.url.path}", 404)
        if request.method != methods[tuple(rest)]:
            raise Refused(f"{request.method} is not for this address", 405)
        if rest == ["infer"]:
            return await self._answer_infer(request)
        if rest == ["ready"]:
            return Response()
        return _json(metadata(name, VERSION, self._inputs, self._outputs, self._rows is not None))

    async def _answer_infer(self, request: Request) -> Response:
        body = await request.body()
        decoded = decode(body, request.headers.get(HEADER_LENGTH), self._inputs, self._outputs, self._rows)
        results: Union[Arrays, Any] = await self._infer(decoded.inputs)
        content, headers = encode(self._name, VERSION, decoded, results)
        return Response(content, headers=headers)


def _json(value: Mapping[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(value), status, media_type="application/json")
