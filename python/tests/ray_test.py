#!/usr/bin/env python3
"""Tests ashlar_runtime.ray on a cluster of this machine, on loopback. usage as runtime_test.py's;
names of tests may follow.

Exit code 77 if Ray is missing. `ray[data,serve]` installs all requirements.
"""
import collections
import functools
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import support

if __name__ == "__main__":
    COMMAND = support.begin("numpy", "ray")
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_DEDUP_LOGS"] = "0"
os.environ["RAY_DATA_DISABLE_PROGRESS_BARS"] = "1"
PATIENCE = 300  # seconds for Ray to start or to answer on a busy machine
for name in ("gcs_server_port_wait_time_s", "raylet_start_wait_time_s", "worker_register_timeout_seconds",
             "gcs_server_request_timeout_seconds", "SERVE_PROXY_READY_CHECK_TIMEOUT_S", "SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S"):
    os.environ["RAY_" + name] = str(PATIENCE)
for name in ("agent_register_timeout_ms", "health_check_timeout_ms"):
    os.environ["RAY_" + name] = str(1000 * PATIENCE)
# Starting one interpreter occupies two cores. Many at once wait for each other beyond their limits.
os.environ["RAY_enable_worker_prestart"] = "0"
os.environ["RAY_worker_maximum_startup_concurrency"] = "1"
import numpy as np
import ray
from ray.cluster_utils import Cluster

import ashlar_runtime as ashlar
from ashlar_runtime.ray import Predictor, actor_options, app, idle_worker, map_batches
from ashlar_runtime.ray._worker import SLACK, STEP, own_memory
from memory_group import MemoryGroup
from protocol_cases import Server

MIB = 1 << 20
START = {"address": "local", "include_dashboard": False, "configure_logging": False, "_node_ip_address": "127.0.0.1"}


def patient(get_node):
    """Asks late whether a node has started.

    Ray asks again and again without a pause, and fails after 30 s, which no setting changes.
    """

    def ask(*arguments):
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return get_node(*arguments)
            except RuntimeError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    return ask


def started(start, **options):
    """Calls `start` until it succeeds.

    A node ends itself if its agents take longer than 15 s, which no setting changes.
    """
    tries = 5
    while True:
        try:
            return start(**options)
        except Exception as error:  # Ray raises no specific class
            ray.shutdown()
            tries -= 1
            if tries == 0 or "timed out during startup" not in str(error):
                raise


class Worker(Predictor):
    """Reports its process and its memory growth, and leaves its process id in a folder."""

    def __init__(self, *arguments, pids=None, **options):
        if pids is not None:
            open(os.path.join(pids, str(os.getpid())), "w").close()
        self.before = own_memory()
        super().__init__(*arguments, **options)

    def growth(self, x, runs):
        for _ in range(runs):
            self({"x": x})
        return own_memory() - self.before

    def fill(self, x, runs):
        """Copies the input first, because Ray passes arrays in its store."""
        return self.growth(x.copy(), runs)

    def where(self):
        return os.getpid()


class RayTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        os.makedirs("/tmp/ray", exist_ok=True)  # Cluster expects it
        services = ray._private.services
        waits = functools.partialmethod(Cluster._wait_for_node, timeout=PATIENCE)
        for place, name, instead in ((services, "get_node", patient(services.get_node)), (Cluster, "_wait_for_node", waits)):
            patience = unittest.mock.patch.object(place, name, instead)
            patience.start()
            cls.addClassCleanup(patience.stop)
        cls.chain = support.zoo(COMMAND, "tiling_chain", cls.folder.name)
        cls.mobilenet = support.zoo(COMMAND, "mobilenet_v2", cls.folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def tearDown(self):
        ray.shutdown()

    def input(self, path, rows, seed=1):
        shape = ashlar.load(path).plan(threads=1).inputs[0].shape[1:]
        return np.random.default_rng(seed).standard_normal((rows, *shape)).astype(np.float32)

    def rows_once(self, disturb, **cluster):
        """Runs a dataset, calling disturb(batches so far, folder of process ids), and compares each
        row with the library's.
        """
        rows, batch = 240, 4
        x = self.input(self.chain, rows)
        pids = tempfile.mkdtemp(dir=self.folder.name)
        dataset = ray.data.from_items([{"id": i, "image": x[i]} for i in range(rows)], override_num_blocks=24)
        options = actor_options(self.chain, batch, idle=idle_worker("data"))
        dataset = dataset.map_batches(
            Worker, batch_size=batch, batch_format="numpy", compute=ray.data.ActorPoolStrategy(size=2),
            fn_constructor_args=(self.chain, batch),
            fn_constructor_kwargs={"pids": pids, "folder": self.folder.name, "columns": {"data": "image"}}, **dict(options, **cluster))
        seen = collections.Counter()
        expected = ashlar.Buckets(ashlar.load(self.chain), [batch], threads=1)
        results = {}
        for count, made in enumerate(dataset.iter_batches(batch_size=batch, batch_format="numpy", prefetch_batches=0), 1):
            seen.update(made["id"].tolist())
            output = next(name for name in made if name != "id")
            results.update(zip(made["id"].tolist(), made[output]))
            disturb(count, pids)
        self.assertEqual(dict(seen), {i: 1 for i in range(rows)})
        for begin in range(0, rows, batch):
            np.testing.assert_allclose(np.stack([results[i] for i in range(begin, begin + batch)]), expected(x[begin:begin + batch]),
                                       rtol=1e-5, atol=1e-6)
        return pids

    def test_rows_come_once_where_an_actor_is_killed(self):
        started(ray.init, num_cpus=3, **START)
        killed = []

        def kill(count, pids):
            if count == 5:
                victim = int(sorted(os.listdir(pids))[0])
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        pids = self.rows_once(kill)
        self.assertTrue(killed)
        self.assertGreaterEqual(len(os.listdir(pids)), 3, "the actor was started again")

    def test_rows_come_once_where_a_node_is_lost(self):
        cluster = started(Cluster, initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            nodes = [started(cluster.add_node, num_cpus=1, resources={"worker": 1}) for _ in range(2)]
            started(ray.init, address=cluster.address, configure_logging=False)
            removed = []

            def remove(count, _):
                if count == 5:
                    cluster.remove_node(nodes[0], allow_graceful=False)
                    removed.append(count)

            self.rows_once(remove, num_cpus=0, resources={"worker": 0.5})
            self.assertTrue(removed)
        finally:
            ray.shutdown()
            cluster.shutdown()

    def test_map_batches_needs_no_more_than_the_model(self):
        started(ray.init, num_cpus=1, **START)  # the actor must not take it from the readers
        x = self.input(self.chain, 10)
        made = map_batches(ray.data.from_numpy(x), self.chain, batch=4, folder=self.folder.name).take_all()
        alone = ashlar.load(self.chain).compile(threads=1)
        self.assertEqual(len(made), 10)
        for row, expected in zip(made, x):
            (values,) = row.values()
            np.testing.assert_allclose(values, alone(expected[None])[0], rtol=1e-5, atol=1e-6)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "largest node"):
            map_batches(ray.data.from_numpy(x), self.chain, idle=10**15)

    def test_open_heights_and_widths_are_given_as_shapes(self):
        model = support.onnx_relu(os.path.join(self.folder.name, "open.onnx"), "n", 3, "height", "width")
        started(ray.init, num_cpus=1, **START)
        x = np.random.default_rng(2).standard_normal((10, 3, 5, 7)).astype(np.float32)
        made = map_batches(ray.data.from_numpy(x), model, batch=4, folder=self.folder.name, shapes={"x": (1, 3, 5, 7)}).take_all()
        self.assertEqual(len(made), 10)
        for row, expected in zip(made, x):
            (values,) = row.values()
            np.testing.assert_array_equal(values, np.maximum(expected, 0))
        with self.assertRaisesRegex(ashlar.InvalidArgument, "'height' and 'width' are not fixed"):
            map_batches(ray.data.from_numpy(x), model, batch=4)

    def test_actors_of_many_sizes_declare_their_memory(self):
        path = support.onnx_relu(os.path.join(self.folder.name, "sizes.onnx"), "n", 3, "height", "width")
        sizes = {"x": "{1,4}x3x{64,128}x{64,96}"}
        family = ashlar.load(path).family(sizes, threads=1)
        steps = sum(len(plan.steps) for plan in family.plans)
        memory = family.memory
        self.assertEqual(actor_options(path, sizes, idle=0),
                         {"num_cpus": 1, "memory": memory.arena + memory.input + memory.output + memory.weights + steps * STEP + SLACK})
        example = pathlib.Path(__file__).parent.parent.parent / "examples/python/ray_sizes.py"
        done = subprocess.run([sys.executable, example, path, sizes["x"]], capture_output=True, text=True, timeout=2 * PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("an actor declares 1 CPU", "x=5x4x129x97 fits in no point; declared: x={1,4}x3x{64,128}x{64,96}", "40 requests at 8 sizes"):
            self.assertIn(text, done.stdout)

    def test_streams_keep_their_states(self):
        path = support.onnx_function(os.path.join(self.folder.name, "states.onnx"), "Max", 1, 4, 8, 8, inputs=("x", "h"))
        state = actor_options(path, idle=0, states={"y": "h"})["memory"] - actor_options(path, idle=0)["memory"]
        self.assertGreaterEqual(state, 0)  # which was an input of as many bytes
        example = pathlib.Path(__file__).parent.parent.parent / "examples/python/ray_states.py"
        done = subprocess.run([sys.executable, example, path, "y=h"], capture_output=True, text=True, timeout=2 * PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("1024 bytes of it a stream", "refused: ValueError: stream 5: 5 streams are served", "40 steps of 5 streams"):
            self.assertIn(text, done.stdout)

    def test_as_many_are_placed_as_there_is_memory_for(self):
        options = actor_options(self.mobilenet, idle=50 * MIB)
        started(ray.init, num_cpus=16, _memory=8 * options["memory"] + options["memory"] // 2, **START)
        actors = [ray.remote(Worker).options(**options).remote(self.mobilenet, folder=self.folder.name) for _ in range(11)]
        asked = [actor.where.remote() for actor in actors]
        placed, waiting = ray.wait(asked, num_returns=8, timeout=PATIENCE)
        self.assertEqual(len(placed), 8)
        more, _ = ray.wait(waiting, num_returns=1, timeout=3)
        self.assertEqual(more, [])

    def test_a_worker_grows_by_what_is_planned(self):
        started(ray.init, num_cpus=2, **START)
        for batch, budget in ((1, None), (8, None), (1, "1MiB")):
            x = self.input(self.mobilenet, batch)
            declared = actor_options(self.mobilenet, batch, budget=budget)
            actor = ray.remote(Worker).options(**declared).remote(self.mobilenet, batch, budget=budget, folder=self.folder.name)
            plan = ashlar.load(self.mobilenet).plan(threads=1, budget=budget, shapes={"data": x.shape})
            memory, steps = plan.memory, len(plan.steps)
            planned = memory.arena + memory.input + memory.output
            grown = ray.get(actor.growth.remote(x, 5))
            print(f"batch {batch}, budget {budget}: planned {planned / MIB:.2f} MiB in {steps} steps, grew by {grown / MIB:.2f}",
                  flush=True)
            self.assertLessEqual(grown, planned + SLACK + (steps * STEP if budget else 0))
            self.assertGreater(grown, memory.arena // 2)
            ray.kill(actor)

    def packed_full(self, group, declared, workers, batch, x):
        """Returns how many workers survive runs in a group with room for so many of `declared`
        bytes, and for the weights once.
        """
        weights = ashlar.load(self.mobilenet).plan(threads=1, shapes={"data": x.shape}).memory.weights
        group.limit(workers * declared + weights)
        actors = [ray.remote(Worker).options(num_cpus=0).remote(self.mobilenet, batch, folder=self.folder.name) for _ in range(workers)]

        def answers(asked):
            try:
                ray.get(asked, timeout=PATIENCE)
                return True
            except (ray.exceptions.RayActorError, ray.exceptions.GetTimeoutError, ray.exceptions.TaskUnschedulableError):
                return False

        # A worker that has answered may be killed for the next one.
        ran = [answers(asked) for asked in [actor.fill.remote(x, 3) for actor in actors]]
        alive = sum(has_run and answers(actor.where.remote()) for has_run, actor in zip(ran, actors))
        for actor in actors:
            ray.kill(actor)
        time.sleep(0.5)
        return alive

    def test_a_node_packed_full_holds(self):
        workers, batch = 3, 16
        x = self.input(self.mobilenet, batch)
        try:
            with MemoryGroup() as group:
                python = os.path.join(self.folder.name, "python_in_group")
                with open(python, "w", encoding="ascii") as script:
                    script.write(f"#!/bin/sh\n{group.shell()}\nexec {os.sys.executable} \"$@\"\n")
                os.chmod(python, os.stat(python).st_mode | stat.S_IXUSR)
                started(ray.init, num_cpus=4, runtime_env={"py_executable": python}, **START)
                # Packed first, because packing needs memory once.
                Predictor(self.mobilenet, batch, folder=self.folder.name)
                declared = actor_options(self.mobilenet, batch)["memory"]
                arena = ashlar.load(self.mobilenet).plan(threads=1, shapes={"data": x.shape}).memory.arena
                print(f"declared {declared / MIB:.1f} MiB a worker, of it arena {arena / MIB:.1f}", flush=True)
                self.assertEqual(self.packed_full(group, declared, workers, batch, x), workers)
                self.assertLess(self.packed_full(group, declared - arena // 5, workers, batch, x), workers)
                ray.shutdown()
        except OSError as error:
            self.skipTest(f"no memory control group: {error}")

    def test_throughput(self):
        cores = len(os.sched_getaffinity(0))
        started(ray.init, num_cpus=cores + 1, **START)
        load, x = os.getloadavg()[0], self.input(self.mobilenet, 4)
        actors = [ray.remote(Worker).options(num_cpus=1).remote(self.mobilenet, 4, folder=self.folder.name) for _ in range(cores)]
        ray.get([actor.growth.remote(x, 1) for actor in actors])
        held, rates = ray.put(x), []
        for count in range(1, cores + 1):
            begin = time.perf_counter()
            ray.get([actor.growth.remote(held, 10) for actor in actors[:count]])
            rates.append(count * 40 / (time.perf_counter() - begin))
        print("images a second by workers:", ", ".join(f"{rate:.0f}" for rate in rates), f"(load before: {load:.1f})", flush=True)
        if cores > 1 and load < 0.5:
            self.assertGreater(max(rates[1:]), 1.2 * rates[0])

    def test_serves_the_protocol(self):
        from ray import serve
        started(ray.init, num_cpus=2, **START)
        serve.start(http_options={"host": "127.0.0.1", "port": 8123})
        x = self.input(self.chain, 4)
        server = Server(self, "http://127.0.0.1:8123", ashlar.load(self.chain).compile(threads=1), x)
        try:
            serve.run(app(self.chain, "chain", batch=[1, 2, 4], folder=self.folder.name))
            server.check()
            server.check_together(40)
            self.assertEqual(serve.status().applications["default"].deployments["chain"].replica_states, {"RUNNING": 1})
        finally:
            serve.shutdown()


if __name__ == "__main__":
    support.main()
