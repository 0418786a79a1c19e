"""Serves a model with Ray Serve in the Open Inference Protocol, and sends requests over HTTP while
a replica is killed.

    pip install ashlar-runtime[ray]
    python ray_serve.py model.ash
"""
import json
import os
import sys
import tempfile
import urllib.request

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
import numpy as np
import ray
from ray import serve

import ashlar_runtime as ashlar
from ashlar_runtime.ray import app

URL = "http://127.0.0.1:8127/v2/models/image"


def ask(x, name):
    """Sends one request, with tensors as bytes after the JSON."""
    head = json.dumps({"inputs": [{"name": name, "datatype": "FP32", "shape": list(x.shape),
                                   "parameters": {"binary_data_size": x.nbytes}}],
                       "parameters": {"binary_data_output": True}}).encode()
    request = urllib.request.Request(f"{URL}/infer", head + x.tobytes(), {"Inference-Header-Content-Length": str(len(head))})
    with urllib.request.urlopen(request, timeout=60) as answer:
        body, length = answer.read(), int(answer.headers["Inference-Header-Content-Length"])
    (output,) = json.loads(body[:length])["outputs"]
    return np.frombuffer(body[length:], np.float32).reshape(output["shape"])


def main(path):
    alone = ashlar.load(path).compile(threads=1)
    info = alone.plan.inputs[0]
    x = np.random.default_rng(1).standard_normal(info.shape).astype(np.float32)
    expected = alone(x)
    ray.init(num_cpus=4, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    serve.start(http_options={"host": "127.0.0.1", "port": 8127})
    with tempfile.TemporaryDirectory() as folder:
        serve.run(app(path, "image", replicas=2, folder=folder))
        with urllib.request.urlopen(URL) as answer:
            print(json.loads(answer.read()))
        failed = 0
        for i in range(60):
            if i == 20:
                replica = next(actor for actor in ray.util.list_named_actors(all_namespaces=True) if "image#" in actor["name"])
                ray.kill(ray.get_actor(**replica), no_restart=True)
            try:
                np.testing.assert_allclose(ask(x, info.name), expected, rtol=1e-5, atol=1e-6)
            except OSError:
                failed += 1  # the request was in the replica
        serve.shutdown()
    ray.shutdown()
    print(f"60 requests, a replica killed, {failed} failed")
    assert failed <= 3


if __name__ == "__main__":
    main(*sys.argv[1:])
