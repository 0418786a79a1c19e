#!/usr/bin/env python3
"""Compares the outputs of TensorFlow Lite models with LiteRT's.

    pip install ai-edge-litert numpy
    cmake --build --preset release --target ashlar
    benchmarks/tflite_check.py MODEL.tflite ...             # e.g. what wheels on PyPI ship
    benchmarks/tflite_check.py --generated [NAME ...]       # benchmarks/tflite_models.py

Random inputs, one thread. LiteRT runs with its default kernels (XNNPACK where it takes an operator)
and with its own reference kernels. Integers: the share of elements that differ, and the largest
difference. Floats: the largest difference over the largest magnitude. Exit code 1: a difference
from the default kernels that --allow does not permit.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy
from ai_edge_litert.interpreter import Interpreter, OpResolverType

ROOT = pathlib.Path(__file__).resolve().parent.parent


def random_inputs(run, random):
    feeds = {}
    for detail in run.get_input_details():
        shape, dtype = detail["shape"], detail["dtype"]
        if numpy.issubdtype(dtype, numpy.floating):
            feeds[detail["name"]] = random.standard_normal(shape).astype(dtype)
        elif dtype == numpy.bool_:
            feeds[detail["name"]] = random.integers(0, 2, shape).astype(dtype)
        else:
            bounds = numpy.iinfo(dtype) if dtype in (numpy.int8, numpy.uint8) else None
            feeds[detail["name"]] = (random.integers(bounds.min, bounds.max + 1, shape) if bounds
                                     else random.integers(0, 8, shape)).astype(dtype)
    return feeds


def litert(path, resolver):
    run = Interpreter(model_path=str(path), experimental_op_resolver_type=resolver, num_threads=1)
    run.allocate_tensors()
    return run


def outputs_of(run, feeds):
    for detail in run.get_input_details():
        run.set_tensor(detail["index"], feeds[detail["name"]])
    run.invoke()
    return {detail["name"]: run.get_tensor(detail["index"]) for detail in run.get_output_details()}


def ashlar(program, path, feeds, folder, options):
    """Runs the command; returns outputs by name."""
    numpy.savez(folder / "in.npz", **feeds)
    command = [program, "run", path, "--input", folder / "in.npz", "-o", folder / "out.npz", "--threads", "1", *options]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no output")
    with numpy.load(folder / "out.npz") as outputs:
        return dict(outputs)


class Difference:
    """The difference of two runs, over all inputs tried."""

    def __init__(self):
        self.elements = self.differing = 0
        self.largest, self.relative, self.integers = 0, 0.0, False

    def add(self, ours, theirs):
        if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
            raise RuntimeError(f"{ours.dtype}{list(ours.shape)}, LiteRT has {theirs.dtype}{list(theirs.shape)}")
        if numpy.issubdtype(theirs.dtype, numpy.floating):
            most = float(abs(theirs).max()) if theirs.size else 0
            distance = float(abs(ours - theirs).max()) if theirs.size else 0
            self.relative = max(self.relative, distance / (most or 1))
        else:
            self.integers = True
            distance = abs(ours.astype(numpy.int64) - theirs.astype(numpy.int64))
            self.elements += distance.size
            self.differing += int((distance != 0).sum())
            self.largest = max(self.largest, int(distance.max()) if distance.size else 0)

    def text(self):
        parts = [f"{self.differing} of {self.elements}, at most {self.largest}"] if self.integers else []
        if self.relative or not self.integers:
            parts.append(f"{self.relative:.1e}")
        return "; ".join(parts)

    def within(self, tolerance):
        return self.differing == 0 and self.relative <= tolerance


def store(args, path):
    """Writes the model, an input and LiteRT's outputs for tests."""
    run = litert(path, OpResolverType.AUTO)
    feeds = random_inputs(run, numpy.random.default_rng(args.seed))
    arrays = {f"in_{name}": value for name, value in feeds.items()}
    arrays |= {f"out_{name}": value for name, value in outputs_of(run, feeds).items()}
    args.store.mkdir(parents=True, exist_ok=True)
    (args.store / path.name).write_bytes(path.read_bytes())
    numpy.savez_compressed(args.store / path.name.replace(".tflite", ".npz"), **arrays)


def check(args, path, folder):
    kernels = {"default": OpResolverType.AUTO, "reference": OpResolverType.BUILTIN_REF}
    runs = {}
    for name, resolver in kernels.items():
        try:
            runs[name] = litert(path, resolver)
        except (RuntimeError, ValueError):  # an operator without a reference kernel
            if name == "default":
                raise
    differences = {name: Difference() for name in runs}
    random = numpy.random.default_rng(args.seed)
    for _ in range(args.inputs):
        feeds = random_inputs(runs["default"], random)
        ours = ashlar(args.ashlar, path, feeds, folder, args.option)
        for name, run in runs.items():
            for output, theirs in outputs_of(run, feeds).items():
                differences[name].add(ours[output], theirs)
    return differences


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--generated", action="store_true", help="MODELS are names of tflite_models.py; none: all")
    parser.add_argument("--store", type=pathlib.Path, metavar="FOLDER",
                        help="write the models with LiteRT's outputs instead, for tests/data/tflite")
    parser.add_argument("--ashlar", type=pathlib.Path, default=ROOT / "build/release/ashlar")
    parser.add_argument("--option", action="append", default=[], help="of `ashlar run`, e.g. --option=--memory-budget=64KiB")
    parser.add_argument("--inputs", type=int, default=4, help="random inputs of each model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=1e-5, help="of floats")
    parser.add_argument("--allow", default="", help="names of models that may differ, with commas")
    args = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        paths = [pathlib.Path(model) for model in args.models]
        if args.generated:
            import tflite_models

            known = {**tflite_models.CASES, **tflite_models.NETWORKS}
            paths = []
            for model in args.models or known:
                for dtype, content in tflite_models.made(known[model]).items():
                    paths.append(folder / f"{model}.{dtype}.tflite")
                    paths[-1].write_bytes(content)
        if args.store:
            for path in paths:
                store(args, path)
            return
        print("| model | LiteRT, default kernels | LiteRT, reference kernels |\n|---|---|---|")
        for path in paths:
            try:
                differences = check(args, path, folder)
                shown = {kernels: difference.text() for kernels, difference in differences.items()}
                good = differences["default"].within(args.tolerance)
            except (RuntimeError, ValueError, KeyError) as error:
                shown, good = {"default": f"not run: {str(error).strip().splitlines()[0][:200]}"}, False
            failed += not good and path.name.split(".")[0] not in args.allow.split(",")
            print(f"| {path.name.removesuffix('.tflite')} | {shown['default']} | {shown.get('reference', '')} |", flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
