#!/usr/bin/env python3
"""Tests the planned memory of workers before any is started; Ray is not needed. usage as
runtime_test.py's.
"""
import os
import pathlib
import subprocess
import sys

import support

if __name__ == "__main__":
    COMMAND = support.begin("numpy")
import numpy as np

import ashlar_runtime as ashlar
from ashlar_runtime.ray import Predictor, actor_options, fit

IDLE = 50_000_000
SLACK, STEP = 1 << 20, 2048


class ScalingTest(support.ModelTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.input, cls.shape = cls.info.name, cls.info.shape[1:]
        cls.x = np.random.default_rng(1).standard_normal((11, *cls.shape)).astype(np.float32)

    def predictor(self, **options):
        return Predictor(self.path, folder=self.folder.name, **options)

    def test_workers_declare_what_is_planned(self):
        for batch in (None, 1, 4):
            made = self.model.plan(threads=1, shapes={self.input: (batch or 1, *self.shape)})
            plan = made.memory
            expected = IDLE + plan.arena + plan.input + plan.output + STEP * len(made.steps) + SLACK
            self.assertEqual(actor_options(self.path, batch, idle=IDLE), {"num_cpus": 1, "memory": expected})
            unpacked = actor_options(self.path, batch, idle=IDLE, pack=False, threads=2)
            self.assertEqual(unpacked, {"num_cpus": 2, "memory": expected + plan.weights})
        # A file holds the weights of one plan.
        several = ashlar.Buckets(self.model, batch=[1, 4], threads=1)
        self.assertEqual(actor_options(self.path, [1, 4], idle=IDLE)["memory"],
                         IDLE + several.arena + several.weights + plan.input + plan.output + SLACK +
                         STEP * sum(len(one.steps) for one in several.plans.values()))
        packed = os.path.join(self.folder.name, "by_hand.ash")
        self.model.pack(packed, self.model.plan(threads=1))
        self.assertEqual(actor_options(packed, idle=IDLE, pack=False), actor_options(self.path, idle=IDLE))
        with self.assertRaisesRegex(ashlar.InvalidArgument, "threads"):
            actor_options(self.path, threads=0, idle=IDLE)

    def test_fit_fills_the_node(self):
        path = support.zoo(COMMAND, "mobilenet_v2", self.folder.name, "--image", "64")
        least = fit(path, "1GB", 1, largest=1, idle=IDLE)
        self.assertEqual((least.workers, least.batch, least.budget), (1, 1, None))
        self.assertEqual(least.worker_memory, actor_options(path, 1, idle=IDLE)["memory"])
        self.assertEqual(fit(path, "1GB", 4, largest=1, idle=IDLE).workers, 4)
        # Room for three whole plans and a fourth without one byte: four workers need a budget.
        memory = least.node_memory + 3 * least.worker_memory - 1
        tiled = fit(path, memory, 4, largest=1, idle=IDLE)
        self.assertEqual(tiled.workers, 4)
        self.assertLess(tiled.budget, ashlar.load(path).plan(threads=1).memory.arena)
        self.assertLessEqual(tiled.node_memory, memory)
        self.assertEqual(actor_options(path, 1, idle=IDLE, budget=tiled.budget)["memory"], tiled.worker_memory)
        rates = [fit(path, "1GB", 2, idle=IDLE, largest=largest).rows_per_second for largest in (1, 8)]
        self.assertLessEqual(*rates)

    def test_a_node_that_holds_no_worker_is_told_what_would_do(self):
        with self.assertRaises(ashlar.DoesNotFit) as caught:
            fit(self.path, "1MB", 2, idle=IDLE)
        needed = caught.exception.smallest
        self.assertEqual(fit(self.path, needed, 2, idle=IDLE).workers, 1)
        self.assertLessEqual(needed, fit(self.path, "1GB", 1, idle=IDLE, largest=1).node_memory)
        for wrong in ({"budget": 3}, {"threads": 3}):
            with self.assertRaises(ashlar.InvalidArgument):
                fit(self.path, "1GB", 2, idle=IDLE, **wrong)

    def test_any_number_of_rows(self):
        alone = self.model.compile(threads=1)
        output = alone.plan.outputs[0].name
        predict = self.predictor(batch=4)
        for rows in (0, 1, 4, 5, 8, 11):
            made = predict({"image": self.x[:rows]})
            self.assertEqual(list(made), [output])
            self.assertEqual(len(made[output]), rows)
            for row in range(rows):
                np.testing.assert_allclose(made[output][row:row + 1], alone(self.x[row:row + 1]), rtol=1e-5, atol=1e-6)
        first = predict({"image": self.x[:4]})[output].copy()
        kept = predict({"image": self.x[:4]})[output]
        predict({"image": self.x[4:8]})  # earlier results do not change
        np.testing.assert_array_equal(kept, first)

    def test_other_columns_go_through(self):
        ids = np.arange(11)
        predict = self.predictor(batch=2)
        made = predict({"id": ids, self.input: self.x})
        np.testing.assert_array_equal(made["id"], ids)
        self.assertNotIn(self.input, made)
        named = self.predictor(batch=2, columns={self.input: "pixels"})({"id": ids, "pixels": self.x})
        output = predict.plan.outputs[0].name
        np.testing.assert_array_equal(named[output], made[output])
        for batch, message in (({"id": ids, "pixels": self.x}, f"'{self.input}'"), ({self.input: self.x.astype(np.float64)}, "float64"),
                               ({self.input: self.x[..., :-1]}, "expected")):
            with self.assertRaisesRegex(ashlar.InvalidArgument, message):
                predict(batch)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "no input"):
            self.predictor(columns={"none": "pixels"})

    def test_weights_are_packed_once(self):
        folder = os.path.join(self.folder.name, "packed")
        program = ("import sys; from ashlar_runtime.ray import Predictor; "
                   "m = Predictor(sys.argv[1], 2, folder=sys.argv[2]).plan.memory; assert m.weights_in_file == m.weights > 0")
        workers = [subprocess.Popen([sys.executable, "-c", program, self.path, folder]) for _ in range(3)]
        self.assertEqual([worker.wait() for worker in workers], [0, 0, 0])
        (packed,) = pathlib.Path(folder).glob("*.ash")
        written = packed.stat()
        Predictor(self.path, 2, folder=folder, threads=2)  # the file does not depend on the threads
        self.assertEqual(packed.stat().st_ino, written.st_ino)
        packed.write_bytes(b"damaged")
        self.assertGreater(Predictor(self.path, 2, folder=folder).plan.memory.weights_in_file, 0)
        Predictor(self.path, 2, folder=folder, prefer="memory")
        os.utime(self.path)  # counts as another model
        Predictor(self.path, 2, folder=folder)
        self.assertEqual(len(list(pathlib.Path(folder).glob("*.ash"))), 3)
        self.assertEqual(Predictor(self.path, 2, pack=False).plan.memory.weights_in_file, 0)


if __name__ == "__main__":
    support.main()
