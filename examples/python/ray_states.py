"""Serves many streams by one Ray actor whose memory is known before it starts: each stream keeps the state of
its model between requests, beside one arena and one copy of the weights.

    pip install ashlar-runtime[ray]
    python ray_states.py cell.onnx h_out=h_in c_out=c_in
"""
import os
import sys

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
import numpy as np
import ray

import ashlar_runtime as ashlar
from ashlar_runtime.ray import actor_options

STREAMS, STEPS = 5, 8


class Streams:
    """Takes turns between the streams: a stream's state is written before its run and read after it."""

    def __init__(self, path, states, most):
        plan = ashlar.load(path, states=states).plan(threads=1)
        self.run, self.most, self.states = plan.session(), most, {}
        self.first = {info.name: self.run.read_state(info.name) for info in plan.states}

    def step(self, stream, x):
        if stream not in self.states and len(self.states) == self.most:
            raise ValueError(f"stream {stream}: {self.most} streams are served, the most that memory was declared for")
        for name, value in self.states.get(stream, self.first).items():
            self.run.write_state(name, value)
        y = self.run(x).copy()
        self.states[stream] = {name: self.run.read_state(name) for name in self.first}
        return y

    def end(self, stream):
        self.states.pop(stream, None)


def main(path, *links):
    states = dict(link.split("=") for link in links)
    plan = ashlar.load(path, states=states).plan(threads=1)
    ray.init(num_cpus=2, include_dashboard=False, _node_ip_address="127.0.0.1", log_to_driver=False)
    declared = actor_options(path, states=states)
    declared["memory"] += STREAMS * plan.memory.state
    print(f"an actor declares {declared['memory'] / 2**20:.1f} MiB, {plan.memory.state} bytes of it a stream")
    actor = ray.remote(Streams).options(**declared).remote(path, states, STREAMS)
    alone = [plan.session() for _ in range(STREAMS)]
    random, info = np.random.default_rng(1), plan.inputs[0]
    for _ in range(STEPS):
        for stream in random.permutation(STREAMS):
            x = random.standard_normal(info.shape).astype(info.dtype)
            np.testing.assert_array_equal(ray.get(actor.step.remote(stream, x)), alone[stream](x))
    try:
        ray.get(actor.step.remote(STREAMS, x))
    except ValueError as error:
        print(f"refused: {str(error).splitlines()[-1]}")
    ray.get(actor.end.remote(0))
    ray.get(actor.step.remote(STREAMS, x))
    ray.shutdown()
    print(f"{STREAMS * STEPS} steps of {STREAMS} streams gave what each gives alone")


if __name__ == "__main__":
    main(*sys.argv[1:])
