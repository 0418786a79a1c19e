#!/usr/bin/env python3
"""Tests the backend for Triton with a real server. usage as runtime_test.py's; LIBRARY_FOLDER holds
libtriton_ashlar.so.

The server is $TRITONSERVER, `tritonserver` on the path, or the server of the wheel nvidia-pytriton.
Exit code 77 without one.
"""
import importlib.util
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import support


def find_server():
    wheel = importlib.util.find_spec("pytriton")
    places = [os.environ.get("TRITONSERVER"), shutil.which("tritonserver")]
    if wheel is not None and wheel.origin is not None:
        places.append(str(pathlib.Path(wheel.origin).parent / "tritonserver/bin/tritonserver"))
    return next((place for place in places if place and os.path.exists(place)), None)


if __name__ == "__main__":
    SERVER = find_server()
    BUILD = pathlib.Path(sys.argv[1])
    if SERVER is None:
        print("skipped: no Triton server (pip install nvidia-pytriton brings one)")
        sys.exit(support.SKIPPED)
    COMMAND = support.begin("numpy")
import numpy as np

import ashlar_runtime as ashlar
from protocol_cases import LENGTH, Server, ask

CONFIGS = {
    # Requests are batched; the backend tells Triton the inputs and outputs.
    "chain": 'backend: "ashlar" max_batch_size: 4 dynamic_batching { max_queue_delay_microseconds: 20000 } '
             'instance_group [{ count: 2 kind: KIND_CPU }]',
    "least": 'backend: "ashlar" parameters { key: "budget" value { string_value: "min" } } instance_group [{ kind: KIND_CPU }]',
    "unknown": 'backend: "ashlar" parameters { key: "luck" value { string_value: "1" } }',
    "large": 'backend: "ashlar" parameters { key: "budget" value { string_value: "100" } }',
    "sizes": 'backend: "ashlar" max_batch_size: 2 parameters { key: "batch" value { string_value: "8" } }',
    "missing": 'backend: "ashlar" default_model_filename: "none.ash"',
    "most": 'backend: "ashlar" default_model_filename: "model.onnx" parameters { key: "states" value { string_value: "y=h" } } '
            'sequence_batching { direct { } } instance_group [{ count: 2 kind: KIND_CPU }]',
    "shared": 'backend: "ashlar" default_model_filename: "model.onnx" parameters { key: "states" value { string_value: "y=h" } } '
              'sequence_batching { oldest { max_candidate_sequences: 4 } }',
}
REASONS = {"unknown": "luck", "large": "smallest", "sizes": "max_batch_size", "missing": "none.ash",
           "shared": "direct"}


class TritonTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.temporary.name)
        backend, models = folder / "backends/ashlar", folder / "models"
        backend.mkdir(parents=True)
        for name in ("libtriton_ashlar.so", "libashlar.so.1"):
            shutil.copy(BUILD / name, backend / name)
        cls.path = support.zoo(COMMAND, "tiling_chain", str(folder))
        for name, config in CONFIGS.items():
            (models / name / "1").mkdir(parents=True)
            (models / name / "config.pbtxt").write_text(config)
            shutil.copy(cls.path, models / name / "1/model.ash")
            support.onnx_function(models / name / "1/model.onnx", "Max", 1, 4, inputs=("x", "h"))  # y = max(x, h)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        cls.log = open(folder / "log", "w+", encoding="utf-8")
        environment = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}
        cls.server = subprocess.Popen(
            [SERVER, f"--model-repository={models}", f"--backend-directory={folder}/backends", "--http-address=127.0.0.1",
             f"--http-port={port}", "--allow-grpc=false", "--allow-metrics=false", "--exit-on-error=false",
             "--strict-readiness=false"], stdout=cls.log, stderr=subprocess.STDOUT, env=environment)
        cls.url = f"http://127.0.0.1:{port}"
        for _ in range(300):
            try:
                if ask(cls.url, "/v2/health/ready", timeout=2)[0] == 200:
                    break
            except OSError:
                time.sleep(0.1)
            if cls.server.poll() is not None:
                cls.log.seek(0)
                raise RuntimeError(cls.log.read()[-3000:])
        cls.model = ashlar.load(cls.path)
        plan = cls.model.plan(threads=1)
        cls.x = np.random.default_rng(3).standard_normal((4, *plan.inputs[0].shape[1:])).astype(np.float32)
        cls.session = plan.session()

    @classmethod
    def tearDownClass(cls):
        cls.server.terminate()
        code = cls.server.wait(30)
        cls.log.close()
        cls.temporary.cleanup()
        assert code == 0, code

    def test_speaks_the_protocol(self):
        # 500: errors found by its JSON reader.
        Server(self, self.url, self.session, self.x, refused=(400, 500)).check()

    def test_answers_are_the_librarys_to_the_bit(self):
        run = self.model.compile(threads=1, budget="min")
        info, output = run.plan.inputs[0], run.plan.outputs[0]
        config = json.loads(ask(self.url, "/v2/models/least/config")[2])
        self.assertEqual(config["input"][0]["dims"], list(info.shape))
        server = Server(self, self.url, run, self.x)
        for row in self.x:
            entry = {"name": info.name, "datatype": "FP32", "shape": list(info.shape), "parameters": {"binary_data_size": row.nbytes}}
            status, headers, body = server.infer({"inputs": [entry], "parameters": {"binary_data_output": True}}, row.tobytes(),
                                                 "/v2/models/least/infer")
            self.assertEqual(status, 200, body)
            y = np.frombuffer(body[int(headers[LENGTH]):], np.float32)
            np.testing.assert_array_equal(y.reshape(output.shape), run(row[None]))

    def test_requests_run_together(self):
        server = Server(self, self.url, self.session, self.x)

        def counts():
            (stats,) = json.loads(ask(self.url, "/v2/models/chain/stats")[2])["model_stats"]
            return stats["inference_count"], stats["execution_count"]

        rows_before, runs_before = counts()
        rows = server.check_together(40)
        rows_after, runs_after = counts()
        self.assertEqual(rows_after - rows_before, rows)
        self.assertLess(runs_after - runs_before, 40)

    def test_sequences_keep_their_states(self):
        def step(sequence, x, start=False, end=False):
            request = {"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 4], "data": x}],
                       "parameters": {"sequence_id": sequence, "sequence_start": start, "sequence_end": end}}
            status, _, body = ask(self.url, "/v2/models/most/infer", json.dumps(request).encode())
            self.assertEqual(status, 200, body)
            return json.loads(body)["outputs"][0]["data"]

        self.assertEqual(step(1, [5, 0, 2, 1], start=True), [5, 0, 2, 1])
        self.assertEqual(step(2, [1, 7, 1, 1], start=True), [1, 7, 1, 1])
        self.assertEqual(step(1, [1, 1, 1, 1]), [5, 1, 2, 1])
        self.assertEqual(step(2, [2, 2, 2, 2], end=True), [2, 7, 2, 2])
        self.assertEqual(step(3, [1, 1, 1, 1], start=True), [1, 1, 1, 1])
        self.assertEqual(step(1, [0, 3, 0, 0], end=True), [5, 3, 2, 1])
        self.assertEqual(step(3, [0, 0, 9, 0], end=True), [1, 1, 9, 1])

    def test_what_cannot_be_served_says_why(self):
        index = json.loads(ask(self.url, "/v2/repository/index", b"{}")[2])
        reasons = {model["name"]: model.get("reason", "") for model in index}
        for name, text in REASONS.items():
            self.assertIn(text, reasons[name], name)


if __name__ == "__main__":
    support.main()
