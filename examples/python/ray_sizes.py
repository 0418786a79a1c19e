"""Serves arrays of many sizes by Ray actors whose memory is known before they start: one plan for each
declared size, weights once, one arena.

    pip install ashlar-runtime[ray]
    python ray_sizes.py model.onnx "1..4x3x{224,320}x{224,320}"
"""
import os
import sys

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
import numpy as np
import ray

import ashlar_runtime as ashlar
from ashlar_runtime.ray import actor_options

REQUESTS = 40


def main(path, text):
    model = ashlar.load(path)
    sizes = {model.inputs[0].name: text}
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    declared = actor_options(path, sizes)
    print(f"an actor declares {declared['num_cpus']} CPU, {declared['memory'] / 2**20:.1f} MiB")
    actors = [ray.remote(ashlar.Buckets).options(**declared).remote(model, sizes, threads=1) for _ in range(2)]
    alone = ashlar.Buckets(model, sizes, threads=1)
    largest = max((shapes[model.inputs[0].name] for shapes in alone.points.values()), key=np.prod)
    random, padding = np.random.default_rng(1), []
    for i in range(REQUESTS):
        shape = [int(random.integers(max(1, size // 2), size + 1)) for size in largest]
        shape[1] = largest[1]
        x = random.standard_normal(shape).astype(np.float32)
        padding.append(alone.choose(x).padding)
        np.testing.assert_array_equal(ray.get(actors[i % 2].__call__.remote(x)), alone(x))
    try:
        ray.get(actors[0].__call__.remote(np.zeros([size + 1 for size in largest], np.float32)))
    except ashlar.InvalidArgument as error:
        print(f"refused: {str(error).splitlines()[-1]}")
    ray.shutdown()
    print(f"{REQUESTS} requests at {len(alone.plans)} sizes, {np.mean(padding):.0%} of their elements padding")


if __name__ == "__main__":
    main(*sys.argv[1:])
