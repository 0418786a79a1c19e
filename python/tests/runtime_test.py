#!/usr/bin/env python3
"""Tests the Python package over the library. usage: runtime_test.py LIBRARY_FOLDER|installed
COMMAND

Skips with exit code 77 if numpy is missing.
"""
import concurrent.futures
import copy
import gc
import multiprocessing
import os
import pathlib
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import warnings
import weakref

import support

if __name__ == "__main__":
    COMMAND = support.begin("numpy")
import numpy as np

import ashlar_runtime as ashlar


EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "examples" / "python"


def run_file(path, x):
    """Runs in a process that has inherited nothing."""
    return ashlar.load(path).compile(threads=2)(x)


def resident_bytes():
    with open("/proc/self/statm") as sizes:
        return int(sizes.read().split()[1]) * os.sysconf("SC_PAGESIZE")


class RuntimeTest(support.ModelTest):

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.x = np.random.default_rng(1).standard_normal(cls.info.shape).astype(np.float32)

    def test_runs_as_the_command_does(self):
        y = self.model.compile(threads=1)(self.x)
        given, made = os.path.join(self.folder.name, "x.npy"), os.path.join(self.folder.name, "y.npz")
        np.save(given, self.x)
        subprocess.run([COMMAND, "run", self.path, "--input", given, "-o", made, "-q", "--threads", "1"], check=True,
                       stdout=subprocess.DEVNULL)
        with np.load(made) as expected:
            np.testing.assert_array_equal(y, expected[expected.files[0]])

    def test_arrays_keep_their_addresses(self):
        run = self.model.compile(threads=1)
        out = np.empty(run.plan.outputs[0].shape, np.float32)
        self.assertIs(run(self.x, out=out), out)
        np.testing.assert_array_equal(run(self.x), out)
        name = run.plan.inputs[0].name
        np.testing.assert_array_equal(run(**{name: self.x}), out)
        # Each call uses its own arrays, even if arrays alternate or are read-only.
        other, constant = np.empty_like(out), self.x.copy()
        constant.flags.writeable = False
        for x, y in ((constant, other), (constant, other), (self.x, out), (constant, out), (self.x, other)):
            y[...] = -1
            run(x, out=y)
            np.testing.assert_array_equal(y, self.model.compile(threads=1)(self.x))
        twice = self.x * 2
        self.assertFalse(np.array_equal(run(twice), out))
        np.testing.assert_array_equal(run(self.x), out)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "may not be written"):
            fixed = np.empty_like(out)
            fixed.flags.writeable = False
            run(self.x, out=fixed)

    def test_a_budget_is_kept_or_says_what_would_do(self):
        least = self.model.plan(budget="min", threads=1).memory.arena
        whole = self.model.plan(threads=1)
        self.assertLess(least, whole.memory.arena)
        tiled = self.model.compile(budget=least, threads=1)
        self.assertLessEqual(tiled.plan.memory.arena, least)
        np.testing.assert_allclose(tiled(self.x), whole.session()(self.x), rtol=1e-5, atol=1e-6)
        with self.assertRaises(ashlar.DoesNotFit) as caught:
            self.model.plan(budget=least - 1, threads=1)
        self.assertEqual(caught.exception.smallest, least)
        self.assertIsInstance(caught.exception, MemoryError)

    def test_the_plan_is_an_array(self):
        plan = self.model.plan(threads=1)
        buffers = plan.buffers
        self.assertEqual((buffers["offset"] + buffers["size"]).max(), plan.memory.arena)
        self.assertEqual(max(step.live_bytes for step in plan.steps), plan.memory.lower_bound)
        solved = ashlar.plan_memory(buffers["lower"], buffers["upper"], buffers["size"], buffers["alignment"],
                                    inside=buffers["inside"], inside_offset=buffers["inside_offset"])
        self.assertEqual(solved.arena, plan.memory.arena)
        self.assertIn("<svg", plan._repr_html_())
        self.assertTrue(plan.export("csv").startswith("id,"))
        self.assertIn("<html", plan.html())
        self.assertEqual(plan.json()["arena_bytes"], plan.memory.arena)

    def test_is_written_as_c(self):
        plan = self.model.plan(device="mcu0:0")
        program = plan.export("c:net")
        self.assertIn("int net_run(", program)
        self.assertIn("int tiling_chain_run(", plan.export("c"))
        for format in ["c:", "c:1st", "C"]:
            with self.assertRaisesRegex(ashlar.Error, "format"):
                plan.export(format)
        with self.assertRaisesRegex(ashlar.Error, "mcu0:0; this one is for cpu0:0"):
            self.model.plan(threads=1).export("c")
        self.assertIn("ARENA_ALIGNMENT 4", self.model.plan(device="mcu0:0", processor="cortex-m4").export("c"))
        with self.assertRaisesRegex(ashlar.Error, "microcontrollers are device mcu0:0"):
            self.model.plan(processor="cortex-m4")
        if shutil.which("cc") is None:
            self.skipTest("no C compiler")
        header = os.path.join(self.folder.name, "net.h")
        with open(header, "w") as file:
            file.write(program)
        test = os.path.join(self.folder.name, "net_test")
        subprocess.run(["cc", "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror",
                        "-DNET_IMPLEMENTATION", "-DNET_TEST", "-x", "c", header, "-o", test], check=True)
        self.assertIn("net: ok", subprocess.run([test], check=True, capture_output=True, text=True).stdout)

    def test_the_plan_is_the_commands(self):
        made = os.path.join(self.folder.name, "plan.csv")
        for option, value in (({}, []), ({"budget": "min"}, ["--memory-budget", "min"])):
            subprocess.run([COMMAND, "plan", self.path, "-o", made, "-q", "--threads", "1", "--no-autotune", *value], check=True)
            with open(made) as plan:
                self.assertEqual(self.model.plan(threads=1, **option).export("csv"), plan.read())

    def test_verification(self):
        measured = self.model.plan(threads=1).verify()
        self.assertTrue(measured.ok)
        self.assertEqual(measured.heap_calls, -1)

    def test_an_input_that_is_given_up(self):
        x = np.random.default_rng(4).standard_normal(self.info.shape).astype(self.info.dtype)
        expected = self.model.compile(threads=1)(x)
        plan = self.model.plan(threads=1, release_input=True)
        self.assertEqual((plan.memory.input, plan.memory.released_input), (0, x.nbytes))
        session = plan.session()
        np.testing.assert_array_equal(session(x), expected)  # copied there
        for _ in range(2):
            place = session.released_input()
            place[...] = x
            np.testing.assert_array_equal(session(place), expected)
        with self.assertRaisesRegex(ashlar.NotBound, "overwritten by the run before"):
            session(place)
        with self.assertRaises(ashlar.InvalidArgument):
            self.model.compile(threads=1).released_input()
        del session
        place[...] = 0  # the array keeps the arena alive

    def test_an_arena_of_the_callers(self):
        plan = self.model.plan(threads=1)
        block = np.zeros(plan.memory.arena + 64, np.uint8)
        begin = -block.ctypes.data % 64
        arena = block[begin:begin + plan.memory.arena]
        first, second = plan.session(arena), plan.session(arena)
        np.testing.assert_array_equal(first(self.x), second(self.x))
        with self.assertRaises(ashlar.DoesNotFit):
            plan.session(arena[:-1])

    def test_models_that_take_turns_share_an_arena(self):
        large, small = self.model.plan(threads=1), self.model.plan(threads=1, budget="min")
        arena = ashlar.shared_arena(large, small)
        self.assertEqual(arena.nbytes, max(large.memory.arena, small.memory.arena))
        first, second = large.session(arena), small.session(arena)
        for _ in range(2):
            np.testing.assert_allclose(first(self.x), second(self.x), rtol=1e-5)

    def test_a_pipeline_says_what_does_not_fit(self):
        with self.assertRaisesRegex(ashlar.InvalidArgument, "of the next model"):
            self.model.then(self.model)
        plan = self.model.plan(threads=1)
        for wrong in (lambda: self.model.then(plan), lambda: ashlar.shared_arena(), lambda: ashlar.shared_arena(plan, self.model)):
            with self.assertRaisesRegex(ashlar.InvalidArgument, "expected a Model|got none|got Plan, Model"):
                wrong()

    def test_batch_sizes_share_their_weights_and_an_arena(self):
        buckets = ashlar.Buckets(self.model, batch=[4, 1, 2], threads=1, prefer="memory")
        self.assertEqual(list(buckets.plans), [1, 2, 4])
        self.assertEqual(buckets.weights, buckets.plans[1].memory.weights)
        self.assertEqual(buckets.arena, buckets.plans[4].memory.arena)
        alone = self.model.compile(threads=1)
        x = np.random.default_rng(2).standard_normal((4, *self.x.shape[1:])).astype(np.float32)
        for rows, size in ((1, 1), (2, 2), (3, 4), (4, 4)):
            self.assertEqual(buckets.size_for(rows), size)
            y = buckets(x[:rows])
            self.assertEqual(y.shape[0], rows)
            for row in range(rows):
                np.testing.assert_allclose(y[row:row + 1], alone(x[row:row + 1]), rtol=1e-5, atol=1e-6)
        for wrong, message in ((np.concatenate([x, x]), "8 rows; the batch sizes are 1, 2, 4"), (x[:0], "rows"), (x[..., :-1], "expected"),
                               (x.astype(np.float64), "float64")):
            with self.assertRaisesRegex(ashlar.InvalidArgument, message):
                buckets(wrong)
        onnx = ashlar.load(support.onnx_relu(os.path.join(self.folder.name, "open.onnx"), "n", 2, "height", "width"))
        opened = ashlar.Buckets(onnx, batch=[1, 3], shapes={"x": (1, 2, 4, 5)}, threads=1)
        pictures = np.random.default_rng(4).standard_normal((2, 2, 4, 5)).astype(np.float32)
        np.testing.assert_array_equal(opened(pictures), np.maximum(pictures, 0))
        with self.assertRaisesRegex(ashlar.InvalidArgument, "a shape such as"):
            ashlar.Buckets(onnx, batch=[1, 3])
        self.assertEqual(opened.choose(pictures), (3, {"x": (3, 2, 4, 5)}, 1 - 2 / 3))
        for batch in ([], [0]):
            with self.assertRaises(ashlar.InvalidArgument):
                ashlar.Buckets(self.model, batch=batch)

    def test_buckets_choose_along_every_declared_dimension(self):
        onnx = ashlar.load(support.onnx_relu(os.path.join(self.folder.name, "axes.onnx"), "n", 2, "height", "width"))
        sizes = {"x": "{1,4}x2x{4,8,12}x{4,9}"}
        buckets = ashlar.Buckets(onnx, sizes, threads=1)
        points = [(n, 2, h, w) for n in (1, 4) for h in (4, 8, 12) for w in (4, 9)]
        self.assertEqual(buckets.points, {i: {"x": point} for i, point in enumerate(points)})
        self.assertEqual(buckets.arena, max(plan.memory.arena for plan in buckets.plans.values()))
        random = np.random.default_rng(6)
        for _ in range(100):
            shape = (int(random.integers(1, 5)), 2, int(random.integers(1, 13)), int(random.integers(1, 10)))
            x = random.standard_normal(shape).astype(np.float32)
            held = min((p for p in points if all(a >= b for a, b in zip(p, shape))), key=np.prod)
            choice = buckets.choose(x)
            self.assertEqual(choice.shapes["x"], held)
            self.assertAlmostEqual(choice.padding, 1 - np.prod(shape) / np.prod(held))
            y = buckets(x)
            self.assertEqual(y.shape, (shape[0], *held[1:]))
            np.testing.assert_array_equal(y[:, :, :shape[2], :shape[3]], np.maximum(x, 0))
        for wrong in ((5, 2, 4, 4), (1, 2, 13, 4), (1, 2, 4, 10), (1, 3, 4, 4), (2, 4, 4)):
            for call in (buckets, buckets.choose):
                with self.assertRaisesRegex(ashlar.InvalidArgument, r"declared: x=\{1,4\}x2x\{4,8,12\}x\{4,9\}"):
                    call(np.zeros(wrong, np.float32))
        for make, message in ((lambda: ashlar.Buckets(onnx, {"x": "{}x2x4x4"}), "has no members"),
                              (lambda: ashlar.Buckets(onnx, {"x": "2..1x2x4x4"}), "has no members"), (lambda: ashlar.Buckets(onnx, {}), "expected a dict"),
                              (lambda: ashlar.Buckets(onnx, sizes, shapes={"x": (1, 2, 4, 4)}), "declares the sizes"),
                              (lambda: buckets.size_for(3), "several dimensions")):
            with self.assertRaisesRegex(ashlar.InvalidArgument, message):
                make()
        with self.assertRaisesRegex(ashlar.InvalidArgument, "float64"):
            buckets(np.zeros((1, 2, 4, 4)))
        self.assertIn("{4,8,12}", repr(buckets))

    def test_a_family_runs_at_every_declared_size(self):
        onnx = ashlar.load(support.onnx_relu(os.path.join(self.folder.name, "sizes.onnx"), "n", 2, "height", "width"))
        family = onnx.family({"x": "1..3x2x{4,8}x{4,8}"}, threads=1)
        self.assertEqual(len(family.plans), 12)
        self.assertEqual(family.points[1], {"x": (1, 2, 4, 8)})
        self.assertEqual(family.arena, max(plan.memory.arena for plan in family.plans))
        random = np.random.default_rng(3)
        for _ in range(200):
            shape = family.points[random.integers(len(family.points))]["x"]
            x = random.standard_normal(shape).astype(np.float32)
            self.assertEqual(family.choose(x).padding, 0)
            np.testing.assert_array_equal(family(x), np.maximum(x, 0))
        for wrong in ((2, 2, 4, 5), (4, 2, 4, 4), (1, 2, 4)):
            with self.assertRaisesRegex(ashlar.InvalidArgument, r"declared: x=1..3x2x\{4,8\}x\{4,8\}"):
                family(np.zeros(wrong, np.float32))
        padding = onnx.family({"x": "{1,4}x2x{4,8}x{4,8}"}, pad=True, threads=1)
        x = random.standard_normal((3, 2, 4, 5)).astype(np.float32)
        choice = padding.choose(x)
        self.assertEqual(choice.shapes, {"x": (4, 2, 4, 8)})
        self.assertAlmostEqual(choice.padding, 1 - (3 * 5) / (4 * 8))
        y = padding(x)
        self.assertEqual(y.shape, (3, 2, 4, 8))  # rows are cut off
        np.testing.assert_array_equal(y[..., :5], np.maximum(x, 0))
        np.testing.assert_array_equal(y[..., 5:], 0)
        example = subprocess.run([sys.executable, EXAMPLES / "sizes.py", onnx.path, "1..2x2x{4,8}x4"], capture_output=True, text=True)
        self.assertEqual(example.returncode, 0, example.stderr)
        for text in ("4 sizes: arena", "resident set grew by", "refused: x=3x3x9x5 is not declared", "(1, 2, 8, 4), of which 0% is padding"):
            self.assertIn(text, example.stdout)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "fits in no point"):
            padding(np.zeros((5, 2, 4, 4), np.float32))
        for shapes, message in (({"x": "8..1x2x4x4"}, "has no members"), ({"x": "1x2x{}x4"}, "has no members"),
                                ({"x": "1..33x2x1..32x4"}, "1056 points"), ({}, "expected a dict"), ({"x": (1, 2)}, "expected a text")):
            with self.assertRaisesRegex(ashlar.InvalidArgument, message):
                onnx.family(shapes)

    def test_results_are_cut_to_their_counts_and_bounds_are_kept(self):
        path = str(pathlib.Path(__file__).parent.parent.parent / "tests" / "data" / "models" / "non_zero.onnx")
        x = np.float32([0, 3, 0, 0, 5, 0])
        native, plan_file = (os.path.join(self.folder.name, name) for name in ("non_zero.ash", "non_zero.plan"))
        subprocess.run([COMMAND, "convert", path, "-o", native, "-q"], check=True)
        ashlar.load(native).plan(threads=1).save(plan_file)
        bounded = ashlar.load(path, bounds={"found": 2})
        with open(path, "rb") as file:
            in_memory = ashlar.load(file.read(), bounds={"found": 2})
        plans = {6: [ashlar.load(path).plan(threads=1), ashlar.load(native).plan(threads=1),
                     ashlar.load(native).plan(plan_file=plan_file)],
                 2: [bounded.plan(threads=1), pickle.loads(pickle.dumps(bounded)).plan(threads=1), in_memory.plan(threads=1)]}
        for most, made in plans.items():
            for plan in made:
                self.assertEqual(plan.outputs[0].shape, (most, 1))
                session = plan.session()
                found = session(x)
                np.testing.assert_array_equal(found["y"], [[1], [4]])
                self.assertEqual(found["y.count"], 2)
                self.assertEqual(found["z"].shape, (6,))  # whose z.count is an output of the model's own
                self.assertEqual(session(x * 0)["y"].shape, (0, 1))
                if most == 2:
                    with self.assertRaisesRegex(ashlar.Error, "found.*more than the 2 that are planned for"):
                        session(x + 1)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "'nobody'"):
            ashlar.load(path, bounds={"nobody": 2}).plan(threads=1)

    def test_several_results_are_cut_to_their_own_counts(self):
        path = str(pathlib.Path(__file__).parent.parent.parent / "tests" / "data" / "models" / "two_counts.onnx")
        session = ashlar.load(path).plan(threads=1).session()
        for x in ([0, 3, -1, -2, 5, -4], [1] * 6, [-1] * 6, [0] * 6):
            x = np.float32(x)
            found = session(x)
            np.testing.assert_array_equal(found["kept"], x[x > 0])
            np.testing.assert_array_equal(found["places"], np.stack(np.nonzero(x < 0)))
            np.testing.assert_array_equal(found["pairs"], np.outer(x[x > 0], x[x < 0]))
            counts = [found[name] for name in ("kept.count", "places.count1", "pairs.count", "pairs.count1")]
            self.assertEqual(counts, [(x > 0).sum(), (x < 0).sum()] * 2)

    def test_a_session_times_its_steps(self):
        session = self.model.plan(threads=1).session()
        rows = session.profile(self.x, iterations=3)
        steps = [step for step in session.plan.steps if step.kernel]
        self.assertEqual([row[:3] for row in rows], [step[:3] for step in steps])
        self.assertTrue(all(row.ms >= 0 and row.expected_ms >= 0 for row in rows))
        self.assertGreater(sum(row.ms for row in rows), 0)
        self.assertAlmostEqual(sum(row.expected_ms for row in rows), session.plan.memory.predicted_ms, places=9)
        np.testing.assert_array_equal(session(self.x), self.model.compile(threads=1)(self.x))
        for wrong, message in ((lambda: session.profile(self.x, iterations=0), "iterations is 0"), (lambda: session.profile({}), "is missing")):
            with self.assertRaisesRegex(ashlar.Error, message):
                wrong()

    def test_notes_go_to_pythons_logging(self):
        small = os.path.join(self.folder.name, "packed_for_logging.ash")
        plan = self.model.plan(threads=1)
        self.model.pack(small, plan)
        with self.assertLogs("ashlar_runtime", "INFO") as logs:
            ashlar.load(small).plan(threads=1, exact=True, prefer="memory").load()
        self.assertRegex(logs.output[0], "INFO:ashlar_runtime:.*pack")

    def test_weights_of_a_model_in_memory_are_read_in_place_and_released(self):
        path = support.onnx_function(os.path.join(self.folder.name, "sum.onnx"), "Add", 3, 40, external="folder/w")
        with open(path, "rb") as file:
            content = file.read()
        weights = np.arange(120, dtype=np.float32).reshape(3, 40)
        x, held, released = np.ones((3, 40), np.float32), sys.getrefcount(weights), weakref.ref(weights)
        model = ashlar.load(content, files={"folder/w": weights})
        self.assertGreater(sys.getrefcount(weights), held)
        weights[:] *= 2  # before the plan packs them
        expected = x + weights
        del weights
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).compile(threads=1)(x), expected)
        plan = model.plan(threads=1)
        run = plan.session()
        model._opened_as = ()
        del model
        self.assertIsNotNone(released())
        plan._release_model()
        self.assertIsNone(released())
        np.testing.assert_array_equal(run(x), expected)
        for files, error, message in ((None, ashlar.RejectedFile, "folder/w, which a model in memory does not have beside it"),
                                      ({"folder/w": x[:2]}, ashlar.RejectedFile, "320 bytes, the shape needs 480"),
                                      ({"folder/w": np.ones((40, 3), np.float32).T}, ashlar.InvalidArgument, "contiguous")):
            with self.assertRaisesRegex(error, message):
                ashlar.load(content, files=files)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "files are of models in memory"):
            ashlar.load(path, files={"folder/w": x})

    def test_states_pass_from_run_to_run(self):
        onnx = ashlar.load(support.onnx_relu(os.path.join(self.folder.name, "state.onnx"), 1, 2, 3, 3))
        stateful = ashlar.load(onnx.path, states={"y": "x"})
        plan = stateful.plan(threads=1)
        self.assertEqual([info.name for info in plan.states], ["x"])
        self.assertEqual((plan.inputs, plan.memory.state), ([], 72))
        run = plan.session()
        value = np.random.default_rng(5).standard_normal((1, 2, 3, 3)).astype(np.float32)
        run.write_state("x", value)
        np.testing.assert_array_equal(run({}), np.maximum(value, 0))  # the only output stays one
        np.testing.assert_array_equal(run.read_state("x"), np.maximum(value, 0))
        run.reset()
        np.testing.assert_array_equal(run.read_state("x"), 0)
        for wrong, message in ((lambda: run.read_state("q"), "no state 'q'; the plan has: x"),
                               (lambda: run.write_state("x", value[:, :1]), "state 'x'"),
                               (lambda: onnx.with_states({"y": "z"}), "no input 'z'"),
                               (lambda: onnx.with_states({"q": "x"}), "no output 'q'")):
            with self.assertRaisesRegex(ashlar.InvalidArgument, message):
                wrong()

    def test_a_stored_plan_is_used_without_a_search(self):
        plan = self.model.plan(budget="min", threads=1)
        path = os.path.join(self.folder.name, "least.plan")
        plan.save(path)
        again = self.model.plan(plan_file=path)
        np.testing.assert_array_equal(again.buffers, plan.buffers)
        np.testing.assert_array_equal(again.session()(self.x), plan.session()(self.x))
        subprocess.run([COMMAND, "run", self.path, "--plan", path, "-q"], check=True, stdout=subprocess.DEVNULL)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "settles memory_budget"):
            self.model.plan(plan_file=path, budget="min")
        with self.assertRaisesRegex(ashlar.RejectedFile, "No such file"):
            self.model.plan(plan_file=path + "s")

    def test_the_module_runs_the_command(self):
        environment = {**os.environ, "LD_LIBRARY_PATH": os.path.dirname(COMMAND) + ":" + os.environ.get("LD_LIBRARY_PATH", "")}
        path = os.path.join(self.folder.name, "whole.plan")
        subprocess.run([sys.executable, "-m", "ashlar_runtime", "plan", self.path, "--threads", "1", "-o", path, "-q"],
                       env=environment, check=True)
        np.testing.assert_array_equal(self.model.plan(plan_file=path).buffers, self.model.plan(threads=1).buffers)
        table = subprocess.run([sys.executable, "-m", "ashlar_runtime", self.path, "--threads", "1"], env=environment, check=True,
                               capture_output=True, text=True).stdout
        self.assertRegex(table, rf"arena +{self.model.plan(threads=1).memory.arena}\n")

    def test_choices_repeat_a_plan(self):
        for options in ({}, {"budget": "min"}, {"budget": "min", "passes": "fold_constants,fuse"},
                        {"align": "256", "inplace": False}, {"exact": True, "planner": "naive"},
                        {"budget": "min", "precision": "Float16", "release_input": True}):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                plan = self.model.plan(threads=1, **options)
            again = self.model.plan(threads=1, **plan.choices)
            self.assertEqual(again.memory.arena, plan.memory.arena)
            self.assertEqual(again.choices, plan.choices)
            given = {name: value for name, value in options.items() if name != "budget"}
            self.assertEqual({**plan.choices, **given}, plan.choices)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "no_pass"):
            self.model.plan(passes="no_pass")

    def test_notes_about_values_are_warned_of_once(self):
        text = "float16 is computed as Float32"
        fixed = support.onnx_function(os.path.join(self.folder.name, "half.onnx"), "Softmax", 2, 3, dtype=10)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = ashlar.load(fixed)
            self.assertEqual(model.notes, [text])
            plan = model.plan(threads=1)
        self.assertEqual([str(warning.message) for warning in caught], [f"{fixed}: {text}"])
        self.assertEqual(caught[0].filename, __file__)
        self.assertEqual(plan.outputs[0].dtype, np.float16)
        # A model that needs shapes has its notes from its first plan on.
        opened = support.onnx_function(os.path.join(self.folder.name, "open_half.onnx"), "Softmax", 2, "width", dtype=10)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = ashlar.load(opened)
            self.assertEqual((model.notes, caught), ([], []))
            for _ in range(2):
                model.plan(threads=1, shapes={"x": (2, 5)})
            self.assertEqual(model.notes, [text])
        self.assertEqual([str(warning.message) for warning in caught], [f"{opened}: {text}"])
        self.assertEqual(self.model.notes, [])

    def test_every_planning_option_of_the_command(self):
        plain = self.model.plan(threads=1)
        self.assertEqual(self.model.plan(threads=1, planner="auto", inplace=True, plan_time="250ms").memory.arena,
                         plain.memory.arena)
        self.assertGreater(self.model.plan(threads=1, planner="naive").memory.arena, plain.memory.arena)
        self.assertEqual(self.model.plan(threads=1, align=4096).memory.arena % 4096, 0)
        self.assertEqual(self.model.plan(threads=1, planner=None, inplace=np.bool_(True)).memory.arena, plain.memory.arena)
        for options, message in (({"planner": "best"}, "unknown planner"), ({"inplace": "a b"}, "expected a word"),
                                 ({"planner": "naive", "budget": "min"}, "tiles save none"),
                                 ({"precision": "fp16", "passes": "none"}, "the pass `precision`")):
            with self.assertRaisesRegex(ashlar.InvalidArgument, message):
                self.model.plan(**options)
        for options, message in (({"planer": "naive"}, "mean 'planner'"), ({"threds": 1}, "mean 'threads'"),
                                 ({"qqqq": 1}, "'qqqq'$"), ({"memory_budget": "min"}, "`budget`")):
            with self.assertRaisesRegex(TypeError, message):
                self.model.plan(**options)

    def test_a_total_that_grows_under_a_budget_is_warned_of(self):
        resnet = ashlar.load(support.zoo(COMMAND, "resnet18", self.folder.name, "--image", "64"))
        grew = False
        for budget in (None, "min", 10**9):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                plan = resnet.plan(threads=1, budget=budget)
            memory = plan.memory
            self.assertEqual(memory.total_without_budget > 0, budget is not None)
            grows = 0 < memory.total_without_budget < memory.total
            self.assertEqual([w.category for w in caught], [RuntimeWarning] * grows)
            cause = "the search for tiles" if plan.choices["tile"] == "none" else "tiles pack weights"
            self.assertTrue(all(cause in str(w.message) for w in caught))
            grew = grew or grows
        self.assertTrue(grew)

    def test_the_module_ends_with_the_exit_codes_of_the_command(self):
        for arguments, code in (([self.path], 0), ([self.path, "--budget", "100B"], 3), ([self.path, "--budget", "much"], 2),
                                ([self.path, "--threads", "-1"], 2), (["none.ash"], 6), ([__file__], 6), (["--nonsense"], 2)):
            ended = subprocess.run([sys.executable, "-m", "ashlar_runtime", *arguments], capture_output=True, text=True)
            self.assertEqual(ended.returncode, code, f"{arguments}: {ended.stderr}")

    def test_weights_in_memory_are_shared_no_more(self):
        plan = self.model.plan(threads=1)
        plan.load()
        with self.assertRaisesRegex(ashlar.InvalidArgument, "before its first session"):
            self.model.plan(threads=1, share=plan)

    def test_packed_files_hold_the_weights(self):
        packed = os.path.join(self.folder.name, "packed.ash")
        for options in ({}, {"budget": "min"}, {"shapes": {self.model.plan().inputs[0].name: (2, *self.x.shape[1:])}}):
            plan = self.model.plan(threads=1, **options)
            self.model.pack(packed, plan)
            same = ashlar.load(packed).plan(threads=1, budget=options.get("budget"))
            total = plan.memory.total, plan.memory.total_without_budget  # weights in the file are not packed in memory
            self.assertEqual(same.memory._replace(weights_in_file=0, total=total[0], total_without_budget=total[1]), plan.memory)
            self.assertEqual(same.memory.weights_in_file, plan.memory.weights)
            x = np.ones(plan.inputs[0].shape, np.float32)
            np.testing.assert_array_equal(same.session()(x), plan.session()(x))
        with self.assertRaisesRegex(ashlar.InvalidArgument, ".ash"):
            self.model.pack(packed + ".onnx", plan)

    def test_weights_that_do_not_fit_are_streamed(self):
        packed = os.path.join(self.folder.name, "packed.ash")
        whole = self.model.plan(threads=1)
        self.model.pack(packed, whole)
        model = ashlar.load(packed)
        with self.assertRaises(ashlar.DoesNotFit) as caught:
            model.plan(threads=1, weights_budget=64)
        plan = model.plan(threads=1, weights_budget=caught.exception.smallest)
        self.assertLessEqual(plan.memory.weights, caught.exception.smallest)
        self.assertLess(caught.exception.smallest, whole.memory.weights)
        self.assertGreater(plan.memory.predicted_ms, whole.memory.predicted_ms, "with reads")
        measured = plan.verify()  # regression: of a window it was 0
        self.assertTrue(measured.ok)
        self.assertLessEqual(measured.weights, plan.memory.weights)
        self.assertGreater(measured.weights, plan.memory.weights - 64)
        np.testing.assert_array_equal(plan.session()(self.x), whole.session()(self.x))

    def test_streamed_models_share_one_window(self):
        packed = [os.path.join(self.folder.name, f"window{i}.ash") for i in range(2)]
        for path, options in zip(packed, ({}, {"prefer": "memory"})):
            self.model.pack(path, self.model.plan(threads=1, **options))
        models = [ashlar.load(path) for path in packed]
        whole = [models[0].plan(threads=1), models[1].plan(threads=1, prefer="memory")]
        budget = int(0.95 * whole[0].memory.weights)
        first = models[0].plan(threads=1, weights_budget=budget)
        others = [models[0].plan(threads=1, weights_budget=int(0.9 * budget), share=first),
                  models[1].plan(threads=1, weights_budget=int(0.9 * budget), prefer="memory", share=first)]
        for plan in others:
            self.assertEqual(plan.memory.weights_shared, plan.memory.weights, "all in the first one's window")
        sessions = [first.session(), first.session(), others[0].session(), others[1].session()]
        wanted = [whole[0].session()(self.x)] * 3 + [whole[1].session()(self.x)]
        for at in (0, 3, 1, 2, 3, 0):
            np.testing.assert_array_equal(sessions[at](self.x), wanted[at])

        def use(at):
            for _ in range(5):
                np.testing.assert_array_equal(sessions[at](self.x), wanted[at])
        with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they wait for each other
            list(pool.map(use, range(4)))
        with self.assertRaisesRegex(ashlar.InvalidArgument, "has no window to share"):
            models[0].plan(threads=1, weights_budget=budget, share=whole[0])

    def test_code_is_locked_as_it_is_used(self):
        lock = ("import ashlar_runtime as ashlar, re\n"
                "try:\n    ashlar.lock_code()\n"
                "except ashlar.Unavailable as error:\n    print(error)\n"
                "else:\n    print(re.search(r'VmLck:\\s*(\\d+)', open('/proc/self/status').read()).group(1))\n")
        ended = subprocess.run([sys.executable, "-c", lock], capture_output=True, text=True)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        self.assertRegex(ended.stdout, r"^[1-9]\d*$|ulimit -l")

    def test_trains_goes_on_and_saves(self):
        shape = (4, 3, 32, 32)
        model = ashlar.load(support.zoo(COMMAND, "squeezenet", self.folder.name, "--image", "32"))
        options = {"threads": 1, "shapes": {model.plan(threads=1).inputs[0].name: shape}}
        training = model.train(**options)
        self.assertEqual(training.images.shape, shape)
        self.assertGreater(training.memory.state, 0)
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        t = np.arange(4, dtype=np.int32)
        losses = [training.step(x, t, 0.001) for _ in range(2)]
        self.assertEqual(training.steps, 2)
        for rate in (float("nan"), float("inf")):
            with self.assertRaisesRegex(ashlar.InvalidArgument, "rate is"):
                training.step(x, t, rate)
        self.assertTrue(repr(training).startswith("TrainingSession(images=[4, 3, 32, 32], steps=2"))
        with self.assertRaisesRegex(TypeError, "checkpoint"):
            pickle.dumps(training)
        state = os.path.join(self.folder.name, "state.ash")
        training.checkpoint(state)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "state.ash: a checkpoint of a training, not a model"):
            ashlar.load(state).plan()
        kept = os.path.join(self.folder.name, "checkpoint.ash")
        training.checkpoint(kept)
        other = model.train(**options)
        self.assertEqual([other.step(x, t, 0.001) for _ in range(2)], losses)
        other.step(x, t, 1.0)
        other.resume(kept)
        self.assertEqual(other.step(x, t, 0.001), training.step(x, t, 0.001))
        name = next(name for name, info in training.states.items() if len(info.shape) == 4)
        value = training.read(name)
        training.write(name, value * 2)
        np.testing.assert_array_equal(training.read(name), value * 2)
        trained = os.path.join(self.folder.name, "trained.ash")
        other.save(trained)
        self.assertEqual(ashlar.load(trained).plan().inputs[0].shape[0], 1)
        self.assertEqual(other.evaluate(x).shape, other.outputs.shape)
        for wrong, said in (({"optimizer": "lion"}, "sgd, adam, adamw"), ({"freeze": "("}, "no regular expression")):
            with self.assertRaisesRegex(ashlar.InvalidArgument, said):
                model.train(**wrong, threads=1)
        with self.assertRaisesRegex(ashlar.InvalidArgument, r"labels: got int64\[4\], expected int32\[4\]"):
            training.step(x, t.astype(np.int64), 0.1)

    def test_what_is_wrong_is_named(self):
        run = self.model.compile(threads=1)
        name = run.plan.inputs[0].name
        for given, message in ((self.x.astype(np.float64), "float64"), (self.x[..., :-1], "expected"),
                               (self.x.transpose(0, 1, 3, 2), "contiguous"), ({"none": self.x}, f"has: {name}"),
                               ([1, 2], "list")):
            with self.assertRaisesRegex(ashlar.InvalidArgument, message):
                run(given)
        with self.assertRaises(ashlar.NotBound):
            run()
        for missing in (self.path + ".none", self.path + ".onnx"):
            for kind in (ashlar.RejectedFile, FileNotFoundError, ValueError):
                with self.assertRaisesRegex(kind, "No such file"):
                    ashlar.load(missing)
        for given, hint in ((self.x.astype(np.float64), r"x.astype\('float32'\)"), (self.x.transpose(0, 1, 3, 2), "np.ascontiguousarray"),
                            (np.ascontiguousarray(self.x.transpose(0, 2, 3, 1)), "channels are last")):
            with self.assertRaisesRegex(ashlar.InvalidArgument, hint):
                run(given)
        for options, message in (({"budget": 1.5}, "budget is 1.5, expected a size"), ({"budget": -7}, "budget is -7"),
                                 ({"shapes": {name: "1xax3"}}, "the shape of"), ({"shapes": {name: (1, 2.5)}}, "the shape of"),
                                 ({"shapes": f"{name}=1x3"}, "expected a dict")):
            with self.assertRaisesRegex(ashlar.InvalidArgument, message):
                self.model.plan(**options)
        self.assertEqual(self.model.plan(threads=1, budget=1e9).memory, self.model.plan(threads=1, budget=10**9).memory)
        for column in ("lower", "upper", "size", "alignment", "offset"):
            buffers = {"lower": [0], "upper": [2], "size": [64], column: [1.5]}
            with self.assertRaisesRegex(ashlar.InvalidArgument, f"{column}: got float64, expected integers"):
                ashlar.plan_memory(**buffers)
        self.assertEqual(ashlar.plan_memory(np.array([0], np.uint8), [2], np.array([64], np.uint64)).arena, 64)
        self.assertEqual(ashlar.plan_memory([], [], []).arena, 0)
        for options in ({"budget": "3 stones"}, {"prefer": "luck"}, {"precision": "fp8"}, {"threads": -1}):
            with self.assertRaises(ValueError, msg=options):
                self.model.plan(**options)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "budget is '3 stones', expected a size"):
            self.model.plan(budget="3 stones")
        with self.assertRaisesRegex(ashlar.InvalidArgument, "lower of 3, upper of 2"):
            ashlar.plan_memory([0, 1, 2], [2, 3], 8)

    def test_sessions_on_threads(self):
        plan = self.model.plan(threads=2)
        expected = plan.session()(self.x)
        wrong = []

        def work():
            run = plan.session()
            for _ in range(20):
                if not np.array_equal(run(self.x), expected):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def on_threads(self, work, count=4):
        """Calls work(i) on threads, and raises their exceptions."""
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            for future in [pool.submit(work, i) for i in range(count)]:
                future.result()

    def test_threads_that_share_a_session_take_turns(self):
        plan = self.model.plan(threads=2)
        arena = ashlar.shared_arena(plan)
        shared, alone = plan.session(), plan.session()
        in_arena = [plan.session(arena) for _ in range(4)]
        buckets = ashlar.Buckets(self.model, batch=[1, 2], threads=1)
        xs = [self.x * (i + 1) for i in range(4)]
        expected = [alone(x) for x in xs]
        outs = [np.empty_like(expected[0]) for _ in xs]
        calls = {"one": lambda i: shared(xs[i]), "one, out": lambda i: shared(xs[i], out=outs[i]), "arena": lambda i: in_arena[i](xs[i])}
        of_buckets = [buckets(x) for x in xs]

        def work(i):
            for name, call in calls.items():
                wrong = sum(not np.array_equal(call(i), expected[i]) for _ in range(200))
                self.assertEqual(wrong, 0, name)
            self.assertEqual(sum(not np.array_equal(buckets(xs[i]), of_buckets[i]) for _ in range(50)), 0)

        self.on_threads(work)

    def test_no_other_thread_comes_between_start_and_wait(self):
        session = self.model.compile(threads=1)
        expected = session(self.x)
        session.start(self.x)
        with self.assertRaisesRegex(ashlar.Busy, "another thread has started"):
            self.on_threads(lambda _: session(self.x), 1)
        np.testing.assert_array_equal(session.wait(), expected)
        self.on_threads(lambda _: session(self.x), 1)

    def test_a_child_of_a_busy_process_goes_on(self):
        session = self.model.compile(threads=1)
        expected, done = session(self.x), threading.Event()

        def work():
            while not done.is_set():
                session(self.x)

        other = threading.Thread(target=work)
        other.start()
        try:
            for _ in range(5):
                child = os.fork()
                if child == 0:
                    os._exit(not np.array_equal(session(self.x), expected))
                self.assertEqual(os.waitpid(child, 0)[1], 0)
        finally:
            done.set()
            other.join()

    def test_planning_is_watched_and_interrupted(self):
        # Shells start programs in the background with SIGINT ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))
        model = ashlar.load(support.zoo(COMMAND, "squeezenet", self.folder.name))
        seen = []

        def stop(progress):
            seen.append(progress)
            raise KeyError("enough")

        with self.assertRaisesRegex(KeyError, "enough"):
            model.plan(threads=1, budget="min", progress=stop)
        self.assertEqual(len(seen), 1)
        self.assertGreater(seen[0].seconds, 0)
        with self.assertRaisesRegex(ashlar.OutOfTime, "time_limit, 0.05 seconds"):
            model.plan(threads=1, budget="min", time_limit=0.05)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "time_limit"):
            model.plan(threads=1, time_limit=-1)
        plan = model.plan(threads=1, budget="1.5MB", time_limit=600, progress=lambda _: None)
        self.assertEqual(plan.memory, model.plan(threads=1, budget="1.5MB").memory)
        # Processor time, so that a busy machine does not count; the median, as a step of a search may be long.
        stopping = []
        for delay in (0.05, 0.1, 0.15, 0.2, 0.3):  # during a search that takes seconds
            signalled = []

            def interrupt():
                signalled.append(time.process_time())
                os.kill(os.getpid(), signal.SIGINT)

            timer = threading.Timer(delay, interrupt)
            timer.start()
            with self.assertRaises(KeyboardInterrupt):
                model.plan(threads=1, budget="min")
            stopping.append(time.process_time() - signalled[0])
        self.assertLess(sorted(stopping)[2], 0.1)

    def test_the_planner_alone_stops_in_time(self):
        random = np.random.default_rng(3)
        lower = random.integers(0, 400, 3000)
        buffers = {"lower": lower, "upper": lower + random.integers(1, 60, 3000), "size": random.integers(1, 10000, 3000)}
        with self.assertRaises(ashlar.OutOfTime):
            ashlar.plan_memory(**buffers, work_ms=600000, time_limit=0.2)

    def test_models_take_pixels(self):
        onnx = support.onnx_relu(os.path.join(self.folder.name, "open.onnx"), "n", 3, "height", "width")
        model = ashlar.load(onnx).with_pixels("x=8x6,mean:100,scale:0.5", shapes={"x": (2, 3, 8, 6)})
        x = np.random.default_rng(4).integers(0, 256, (2, 8, 6, 3), dtype=np.uint8)
        expected = np.maximum((x.transpose(0, 3, 1, 2).astype(np.float32) - 100) * 0.5, 0)
        for made in (model, pickle.loads(pickle.dumps(model))):
            session = made.plan(threads=1).session()
            self.assertEqual(session.plan.inputs[0].shape, (2, 8, 6, 3))
            np.testing.assert_array_equal(session(x), expected)
        frame = np.full((2, 12, 6), 128, dtype=np.uint8)  # grey, of 8 rows
        frame[:, :8] = x[:, :, :, 0]
        grey = ashlar.load(onnx).with_pixels("x=nv12,full", shapes={"x": (2, 3, 8, 6)}).compile(threads=1)(frame)
        np.testing.assert_allclose(grey, np.repeat(frame[:, None, :8], 3, axis=1), atol=1e-4)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "'rbg' is no part of pixels"):
            ashlar.load(onnx).with_pixels("rbg", shapes={"x": (1, 3, 8, 6)})

    def test_images_may_have_channels_last(self):
        onnx = support.onnx_relu(os.path.join(self.folder.name, "planes.onnx"), "n", 3, "height", "width")
        model = ashlar.load(onnx).with_channels_last(shapes={"x": (2, 3, 5, 4)})
        x = np.random.default_rng(5).standard_normal((2, 5, 4, 3), dtype=np.float32)
        for made in (model, pickle.loads(pickle.dumps(model)), model.with_channels_last()):
            np.testing.assert_array_equal(made.compile(threads=1)(x), np.maximum(x, 0))
        pixels = model.with_pixels("mean:100").compile(threads=1)
        x = np.random.default_rng(6).integers(0, 256, (2, 5, 4, 3), dtype=np.uint8)
        np.testing.assert_array_equal(pixels(x), np.maximum(x.astype(np.float32) - 100, 0))

    def test_an_input_may_become_a_constant(self):
        path = str(pathlib.Path(__file__).parent.parent.parent / "tests" / "data" / "models" / "streaming.onnx")
        whole = ashlar.load(path)
        random = np.random.default_rng(7)
        feed = {i.name: random.standard_normal(i.shape).astype(i.dtype) for i in whole.plan(threads=1).inputs}
        expected = whole.compile(threads=1)(feed)
        memory = feed.pop("memory")
        known = ashlar.load(path, values={"memory": memory})
        self.assertEqual({i.name for i in known.inputs}, set(feed))
        for made in (known, pickle.loads(pickle.dumps(known))):
            for name, value in made.compile(threads=1)(feed).items():
                np.testing.assert_allclose(value, expected[name], atol=1e-6, err_msg=name)
        with self.assertRaisesRegex(ashlar.InvalidArgument, "got a value of 1 number"):
            ashlar.load(path, values={"memory": 3}).plan()

    def test_models_say_what_they_take(self):
        self.assertEqual(self.model.inputs, self.model.plan(threads=1).inputs)
        self.assertEqual(self.model.outputs, self.model.plan(threads=1).outputs)
        onnx = support.onnx_relu(os.path.join(self.folder.name, "open.onnx"), "n", 3, "height", "width")
        with open(onnx, "rb") as file:
            source = file.read()
        for model in (ashlar.load(onnx), ashlar.load(source)):
            for infos, name in ((model.inputs, "x"), (model.outputs, "y")):
                self.assertEqual(infos, [ashlar.TensorInfo(name, np.dtype("float32"), (-1, 3, -1, -1), 0)])
            with self.assertRaises(ashlar.InvalidArgument) as raised:
                model.plan(threads=1)
            self.assertIn("'height' and 'width' are not fixed; a shape such as x=1x3x224x224", str(raised.exception))
            self.assertNotIn("--", str(raised.exception))  # the command's syntax
            self.assertEqual(model.plan(threads=1, shapes={"x": "2x3x4x5"}).inputs[0].shape, (2, 3, 4, 5))
        self.assertRegex(ashlar.__version__, r"^\d+\.\d+\.\d+$")

    def test_models_from_bytes(self):
        expected = self.model.compile(threads=1)(self.x)
        onnx = os.path.join(self.folder.name, "model.onnx")
        subprocess.run([COMMAND, "convert", self.path, "-o", onnx, "-q"], check=True)
        for path in (self.path, onnx):
            with open(path, "rb") as file:
                source = file.read()
            for given in (source, bytearray(source), memoryview(source)):
                session = ashlar.load(given).compile(threads=1)  # keeps the bytes alive
                gc.collect()
                np.testing.assert_allclose(session(self.x), expected, rtol=1e-5, atol=1e-6)
            two = ashlar.load(source).plan(threads=1, shapes={self.info.name: (2, *self.x.shape[1:])})
            self.assertEqual(two.inputs[0].shape[0], 2)
        for wrong in (b"", b"no model"):
            with self.assertRaisesRegex(ashlar.RejectedFile, "in memory"):
                ashlar.load(wrong)

    def test_models_plans_and_sessions_are_pickled_as_what_they_were_made_of(self):
        plan = self.model.plan(threads=1, budget="min")
        session = plan.session()
        expected = session(self.x)
        with open(self.path, "rb") as file:
            of_bytes = ashlar.load(file.read())
        for made in (self.model, of_bytes):
            for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made)):
                self.assertEqual(again.path, made.path)
                self.assertEqual(again.plan(threads=1, budget="min").memory, plan.memory)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(session))(self.x), expected)
        self.assertEqual(copy.deepcopy(plan).memory, plan.memory)
        for wrong, message in ((self.model.plan(threads=1, share=self.model.plan(threads=1)), "shares weights"),
                               (plan.session(ashlar.shared_arena(plan)), "arena")):
            with self.assertRaisesRegex(TypeError, message):
                pickle.dumps(wrong)

    def test_what_is_printed_says_what_it_is(self):
        plan = self.model.plan(threads=1)
        with open(self.path, "rb") as file:
            of_bytes = ashlar.load(file.read())
        for made, text in ((self.model, "Model('"), (of_bytes, "Model(bytes)"), (plan, "Plan(arena="),
                           (plan.session(), f"Session({self.info.name}: float32"), (ashlar.Buckets(self.model, [1, 2]), "Buckets(batch=[1, 2]")):
            self.assertTrue(repr(made).startswith(text), repr(made))

    def test_ten_thousand_sessions_leave_nothing_behind(self):
        plan = self.model.plan(threads=1)
        y = np.empty(plan.outputs[0].shape, np.float32)

        def make(count):
            for _ in range(count):
                plan.session()(self.x, out=y)
            gc.collect()
            return resident_bytes()

        before = make(500)
        self.assertLess(make(10000) - before, 1 << 20)  # 105 bytes a session

    def test_children_go_on(self):
        run = self.model.compile(threads=2)
        expected = run(self.x)
        child = os.fork()
        if child == 0:
            os._exit(not (np.array_equal(run(self.x), expected) and np.array_equal(run_file(self.path, self.x), expected)))
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            np.testing.assert_array_equal(pool.apply(run_file, (self.path, self.x)), expected)

    def test_sizes(self):
        for text, expected in (("3.3MB", 3300000), ("512KiB", 524288), ("min", -1), (7, 7), ("7", 7)):
            self.assertEqual(ashlar.parse_size(text), expected)


if __name__ == "__main__":
    support.main()
