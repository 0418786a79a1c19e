#!/usr/bin/env python3
"""Tests ashlar_runtime.torch beside eager mode, and ashlar_runtime.executorch beside its greedy
algorithm. usage as runtime_test.py's.

Exit code 77 if torch or onnxscript is missing; without ExecuTorch its test is skipped.
"""
import copy
import importlib.metadata
import importlib.util
import json
import logging
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import support

support.begin("numpy", "onnx", "onnxscript", "torch")

import torch
from torch import nn
from torch._dynamo.backends import registry

import ashlar_runtime
import ashlar_runtime.torch as ashlar

CLOSE = 1e-4  # of the largest element


class Net(nn.Module):
    """A small residual CNN."""

    def __init__(self, dropout=0.0):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.body = nn.Conv2d(8, 8, 3, padding=1)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        y = torch.relu(self.norm(self.stem(x)))
        y = y + torch.relu(self.body(y))
        return self.head(self.drop(y.mean((2, 3))))


class Many(nn.Module):
    """Has keyword arguments, constants, and a nested result."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 4)

    def forward(self, x, mask=None, scale=2):
        y = self.fc(x) * scale
        if mask is not None:
            y = y.masked_fill(mask, 0.0)
        return {"y": y, "more": (y, None, 3, y.argmax(1))}


def mlp():
    return nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 4))


class TorchTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def assert_close(self, got, wanted):
        self.assertEqual((got.shape, got.dtype), (wanted.shape, wanted.dtype))
        self.assertLessEqual((got - wanted).abs().max().item(), CLOSE * wanted.abs().max().item())


class CompileTest(TorchTest):
    def test_result_of_cnn_equals_eager_mode(self):
        module, x = Net().eval(), torch.randn(2, 3, 12, 12)
        run = ashlar.compile(module, (x,), threads=1)
        smallest = ashlar.compile(module, (x,), threads=1, budget="min")
        self.assertLessEqual(smallest.memory.arena, run.memory.arena)
        for given in (x, torch.randn(2, 12, 12, 3).permute(0, 3, 1, 2), x.clone().requires_grad_()):
            with torch.no_grad():
                wanted = module(given)
            self.assert_close(run(given), wanted)
            self.assert_close(smallest(given), wanted)
        self.assertIsNot(run(x), run(x))
        for wrong in (torch.randn(1, 3, 12, 12), x.double(), 3):
            with self.assertRaisesRegex(ashlar_runtime.InvalidArgument, "expected"):
                run(wrong)
        with self.assertRaises(ashlar_runtime.InvalidArgument):
            run(x, x)

    def test_keywords_constants_and_nested_results(self):
        module, x = Many().eval(), torch.randn(3, 6)
        mask = torch.tensor([True, False, True, False])
        run = ashlar.compile(module, (x,), {"mask": mask, "scale": 5}, threads=1)
        with torch.no_grad():
            wanted = module(x, mask=mask, scale=5)
        got = run(x, scale=5, mask=mask)
        self.assert_close(got["y"], wanted["y"])
        self.assertEqual(got["more"][1:3], (None, 3))
        self.assertTrue(torch.equal(got["more"][3], wanted["more"][3]))
        with self.assertRaisesRegex(ashlar_runtime.InvalidArgument, "compiled for 5"):
            run(x, mask=mask, scale=6)
        with self.assertRaisesRegex(ashlar_runtime.InvalidArgument, "structure"):
            run(x)

    def test_what_is_refused(self):
        x = torch.randn(2, 3, 12, 12)
        with self.assertRaisesRegex(ashlar_runtime.InvalidArgument, "eval"):
            ashlar.compile(Net().train(), (x,))

        class Counts(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros(1))

            def forward(self, x):
                self.count.add_(1)
                return x + self.count

        with self.assertRaisesRegex(ashlar_runtime.Unsupported, "changes 'inner.count'"):
            ashlar.compile(Counts().eval(), (x,))
        with self.assertRaises(ashlar_runtime.DoesNotFit):
            ashlar.compile(Net().eval(), (x,), budget=64)


# Compiles a module with 100 MB of weights, in a process of its own, and prints resident bytes as JSON.
RESIDENT = """
import ctypes, gc, json, torch
from torch import nn
import ashlar_runtime.torch as ashlar

def status(key):
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))

def compiled(width):
    module, x = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width)).eval(), torch.randn(1, width)
    begin = status("VmRSS")
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")  # the highest resident size is counted anew
    run = ashlar.compile(module, (x,), threads=1)
    grown = [status(key) - begin for key in ("VmHWM", "VmRSS")]
    with torch.no_grad():
        equal = torch.allclose(run(x), module(x), atol=1e-5)
    del module
    return {"peak": grown[0], "after": grown[1], "alone": status("VmRSS") - begin, "equal": equal,
            "weights": 16 * width * width, "packed": run.memory.weights + run.memory.arena}

compiled(64)  # the exporter's own memory
print(json.dumps(compiled(2560)))
"""


class WeightsTest(TorchTest):
    def test_weights_are_read_where_they_are(self):
        try:
            with open("/proc/self/clear_refs", "w", encoding="ascii") as peak:
                peak.write("5")
        except OSError:
            self.skipTest("the highest resident size cannot be counted anew here")
        done = subprocess.run([sys.executable, "-c", RESIDENT], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        seen = json.loads(done.stdout)
        slack = seen["weights"] // 4  # a copy more would be four times as much
        self.assertTrue(seen["equal"])
        self.assertLess(seen["peak"], seen["packed"] + slack, seen)
        self.assertLess(seen["after"], seen["packed"] + slack, seen)
        # Without the module its weights are gone: the compiled one holds the packed ones alone.
        self.assertLess(seen["alone"], seen["packed"] - seen["weights"] + slack, seen)


class BackendTest(TorchTest):
    def lines(self, run):
        """Returns the lines of the logger while `run` is called."""
        with self.assertLogs("ashlar_runtime.torch", logging.INFO) as logs:
            logging.getLogger("ashlar_runtime.torch").info("begin")
            run()
        return [record.getMessage() for record in logs.records[1:]]

    def test_logger_is_off(self):
        self.assertFalse(logging.getLogger("ashlar_runtime.torch").isEnabledFor(logging.INFO))

    def test_module_runs_in_a_plan_and_follows_its_weights(self):
        module, x = Net().eval(), torch.randn(2, 3, 12, 12)
        compiled = torch.compile(module, backend=ashlar.backend, options={"budget": "1MiB", "threads": 1})

        def steps():
            with torch.no_grad():
                self.assert_close(compiled(x), module(x))
                module.head.weight.mul_(2)
                self.assert_close(compiled(x), module(x))

        self.assertEqual(self.lines(steps), [])

    def test_entry_point_names_the_backend(self):
        if not importlib.metadata.entry_points(group="torch_dynamo_backends", name="ashlar"):
            # In a clone no distribution is installed; the project's file has what it would say.
            project = pathlib.Path(__file__).parent.parent / "pyproject.toml"
            name, place = re.search(r'entry-points.torch_dynamo_backends\]\n(\w+) = "([\w.:]+)"', project.read_text()).groups()
            folder = tempfile.TemporaryDirectory()
            self.addCleanup(folder.cleanup)
            about = pathlib.Path(folder.name) / "ashlar_runtime-0.dist-info"
            about.mkdir()
            (about / "METADATA").write_text("Metadata-Version: 2.1\nName: ashlar_runtime\nVersion: 0\n")
            (about / "entry_points.txt").write_text(f"[torch_dynamo_backends]\n{name} = {place}\n")
            sys.path.insert(0, folder.name)
            self.addCleanup(sys.path.remove, folder.name)
            registry._discover_entrypoint_backends.cache_clear()
            registry._discover_entrypoint_backends()
        torch._dynamo.reset()
        module, x = Net().eval(), torch.randn(2, 3, 12, 12)
        compiled = torch.compile(module, backend="ashlar", options={"budget": "1MiB", "threads": 1})

        def run():
            with torch.no_grad():
                self.assert_close(compiled(x), module(x))

        self.assertEqual(self.lines(run), [])
        torch._dynamo.reset()
        with self.assertRaisesRegex(Exception, "64 bytes|budget"), torch.no_grad():
            torch.compile(module, backend="ashlar", options={"budget": 64})(x)

    def test_eager_mode_says_why(self):
        module, x = Net().eval(), torch.randn(2, 3, 12, 12)
        torch._dynamo.reset()
        compiled = torch.compile(module, backend=ashlar.backend)
        said = self.lines(lambda: compiled(x).sum().backward())
        self.assertEqual(len(said), 1)
        self.assertIn("gradients", said[0])
        torch._dynamo.reset()
        strange = torch.compile(lambda x: torch.linalg.eigvalsh(x @ x.T), backend=ashlar.backend)
        square = torch.randn(4, 4)
        said = self.lines(lambda: self.assert_close(strange(square), torch.linalg.eigvalsh(square @ square.T)))
        self.assertEqual(len(said), 1)
        self.assertIn("eager", said[0])
        torch._dynamo.reset()
        growing = torch.compile(lambda x: torch.relu(x) + 1, backend=ashlar.backend, dynamic=True)
        said = self.lines(lambda: [self.assert_close(growing(x), torch.relu(x) + 1) for x in map(torch.randn, range(2, 14))])
        self.assertEqual(len(said), 1)
        self.assertIn("combinations of shapes", said[0])


class TrainingTest(TorchTest):
    CASES = [
        ("cnn, sgd", Net, (4, 3, 8, 8), 5, lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3)),
        ("cnn, adam", Net, (4, 3, 8, 8), 5, lambda p: torch.optim.Adam(p, lr=1e-3)),
        ("mlp, sgd", mlp, (8, 12), 4, lambda p: torch.optim.SGD(p, lr=0.1)),
        ("mlp, adamw", mlp, (8, 12), 4, lambda p: torch.optim.AdamW(p, lr=1e-2)),
    ]

    def test_20_losses_equal_eager_mode(self):
        for name, make, shape, classes, optimizer_of in self.CASES:
            with self.subTest(name):
                eager = make().train()
                module = copy.deepcopy(eager)
                eager_optimizer = optimizer_of(eager.parameters())
                step = ashlar.TrainingStep(module, nn.CrossEntropyLoss(), optimizer_of(module.parameters()), threads=1)
                for _ in range(20):
                    x, target = torch.randn(shape), torch.randint(classes, (shape[0],))
                    eager_optimizer.zero_grad()
                    loss = nn.functional.cross_entropy(eager(x), target)
                    loss.backward()
                    eager_optimizer.step()
                    self.assertAlmostEqual(step(x, target), loss.item(), delta=1e-4)
                step.copy_to_module()
                step.copy_from_module()
                for key, value in eager.state_dict().items():
                    self.assertLessEqual((module.state_dict()[key] - value).abs().max().item(), 1e-5, key)

    def test_budget_of_step(self):
        x = torch.randn(4, 3, 16, 16)
        free = ashlar.TrainingStep(Net(), "cross-entropy", "sgd", lr=0.1, x=x, threads=1)
        least = ashlar.TrainingStep(Net(), "cross-entropy", "sgd", lr=0.1, x=x, threads=1, budget="min")
        self.assertLess(least.memory.arena, free.memory.arena)

    def test_what_is_refused(self):
        x = torch.randn(4, 3, 8, 8)
        for message, module, loss, optimizer in (
                ("drop", Net(dropout=0.5), "mse", "sgd"),
                ("loss", Net(), nn.CrossEntropyLoss(label_smoothing=0.1), "sgd"),
                ("optimizer", Net(), "mse", "rmsprop")):
            with self.assertRaisesRegex(ashlar_runtime.Error, message):
                ashlar.TrainingStep(module, loss, optimizer, lr=0.1, x=x)

    @staticmethod
    def measured(module, x):
        """Returns the most bytes that PyTorch allocates at once in a step of eager mode, as its profiler counts them."""
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
            loss = nn.functional.cross_entropy(module(x), torch.zeros(x.shape[0], dtype=torch.int64))
            torch.autograd.grad(loss, list(module.parameters()))
        live = most = 0
        events = [event for event in profile.profiler.kineto_results.events() if event.name() == "[memory]"]
        for event in sorted(events, key=lambda event: event.start_ns()):
            live += event.nbytes()
            most = max(most, live)
        return most

    def test_table_is_what_a_step_takes(self):
        wide = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 64), nn.Tanh(), nn.Linear(64, 4))
        for name, module, x, kernels_take_more in (("mlp", wide, torch.randn(256, 64), False), ("cnn", Net(), torch.randn(4, 3, 32, 32), True)):
            with self.subTest(name):
                table = ashlar.plan(module, (x,), train=True, loss=nn.CrossEntropyLoss(), threads=1)
                measured, estimated = self.measured(module.train(), x), table[0].activations + table[0].gradients
                # The estimate counts tensors; convolutions also allocate inside of their kernels.
                self.assertGreaterEqual(measured, 0.95 * estimated)
                if not kernels_take_more:
                    self.assertLessEqual(measured, 1.05 * estimated)
                for row, options in ((table[1], {}), (table[2], {"budget": "min", "max_extra_flops": 0.0})):
                    step = ashlar.TrainingStep(module, "cross-entropy", "sgd", lr=0.1, x=x, threads=1, **options)
                    self.assertEqual(row.activations, step.memory.arena)
                    self.assertEqual(row.weights + row.moments, step.memory.state + step.memory.weights)
                self.assertLessEqual(table[4].activations, table[3].activations)
                self.assertLessEqual(table[3].activations, table[2].activations)

    def test_table_before_anything_runs(self):
        module, x = Net(), torch.randn(4, 3, 16, 16)
        before = copy.deepcopy(module.state_dict())
        table = ashlar.plan(module, (x,), train=True, optimizer="adam", threads=1)
        self.assertEqual(len(table), 5)
        weights = sum(p.nbytes for p in module.parameters())
        self.assertEqual(table[0].gradients, weights)
        for row in table:
            self.assertEqual(row.moments, 2 * weights, row)
        arenas = [row.activations for row in table[1:]]
        self.assertEqual(arenas, sorted(arenas, reverse=True))
        self.assertIn("10% recomputed", str(table))
        for key, value in module.state_dict().items():
            self.assertTrue(torch.equal(value, before[key]), key)
        self.assertEqual([row.name for row in ashlar.plan(module.eval(), (x,), threads=1)],
                         ["eager, estimated", "plan", "plan, least memory"])


@unittest.skipUnless(importlib.util.find_spec("executorch"), "executorch is missing")
class ExecuTorchTest(TorchTest):
    def test_arena_is_at_most_greedys_and_outputs_are_equal(self):
        from executorch.exir import ExecutorchBackendConfig, to_edge
        from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy
        from executorch.exir.passes import MemoryPlanningPass

        from ashlar_runtime.executorch import algorithm
        module, x = Net().eval(), torch.randn(1, 3, 12, 12)
        sizes = {}
        for one in (greedy, algorithm):
            suite = MemoryPlanningAlgorithmSuite(algo_list=[one])
            program = to_edge(torch.export.export(module, (x,))).to_executorch(
                ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(memory_planning_algo=suite)))
            sizes[one] = program.executorch_program.execution_plan[0].non_const_buffer_sizes[1]
        self.assertLessEqual(sizes[algorithm], sizes[greedy])
        from executorch.runtime import Runtime
        loaded = Runtime.get().load_program(program.buffer)
        with torch.no_grad():
            self.assert_close(loaded.load_method("forward").execute([x])[0], module(x))


if __name__ == "__main__":
    support.main()
