#!/usr/bin/env python3
"""Tests ashlar_runtime.torch beside eager mode, and ashlar_runtime.executorch beside its greedy
algorithm. usage as runtime_test.py's.

Exit code 77 if torch or onnxscript is missing; without ExecuTorch its test is skipped.
"""
import copy
import importlib.util
import logging
import unittest

import support

support.begin("numpy", "onnx", "onnxscript", "torch")

import torch
from torch import nn

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
