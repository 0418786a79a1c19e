"""Runs a dataset on two Ray workers, kills one in the middle, and counts the rows: each is output
once.

    pip install ashlar-runtime[ray]
    python ray_batch.py model.ash
"""
import collections
import os
import signal
import sys
import tempfile

os.environ.update(RAY_USAGE_STATS_ENABLED="0", RAY_DATA_DISABLE_PROGRESS_BARS="1")
import numpy as np
import ray

import ashlar_runtime as ashlar
from ashlar_runtime.ray import actor_options, map_batches

ROWS, BATCH = 96, 4


def workers(known):
    """Returns the process ids of the actors on this machine that run the model."""
    names = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                names[int(pid)] = file.read().decode(errors="replace")
        except OSError:
            continue  # it has ended
    return [pid for pid, name in names.items() if name.startswith("ray::") and known in name]


def main(path):
    shape = ashlar.load(path).plan(threads=1).inputs[0].shape[1:]
    images = np.random.default_rng(1).standard_normal((ROWS, *shape)).astype(np.float32)
    ray.init(num_cpus=3, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    declared = actor_options(path, BATCH, idle="data")
    print(f"a worker declares {declared['num_cpus']} CPU, {declared['memory'] / 2**20:.1f} MiB")
    dataset = ray.data.from_items([{"id": i, "image": images[i]} for i in range(ROWS)], override_num_blocks=12)
    name = ashlar.load(path).plan(threads=1).inputs[0].name
    with tempfile.TemporaryDirectory() as folder:
        results = map_batches(dataset, path, BATCH, workers=2, columns={name: "image"}, folder=folder)
        seen, killed = collections.Counter(), 0
        for count, batch in enumerate(results.iter_batches(batch_size=BATCH, prefetch_batches=0), 1):
            seen.update(batch["id"].tolist())
            victims = workers("Predictor") if count == 3 else []
            for victim in victims[:1]:
                os.kill(victim, signal.SIGKILL)
                killed += 1
    ray.shutdown()
    print(f"{len(seen)} rows, {killed} worker killed, {sum(seen.values()) - len(seen)} rows twice")
    assert dict(seen) == {i: 1 for i in range(ROWS)}
    assert killed == 1


if __name__ == "__main__":
    main(*sys.argv[1:])
