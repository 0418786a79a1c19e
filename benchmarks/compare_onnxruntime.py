#!/usr/bin/env python3
"""Compares any ONNX model in Ashlar and in ONNX Runtime: outputs, the first differing value,
memory, latency.

    pip install onnx onnxruntime numpy
    cmake --build --preset release --target ashlar
    benchmarks/compare_onnxruntime.py model.onnx [...] [--shape NAME=1x3x224x224]
                                      [--input NAME=x.npy] [--seeded] [--threads 1 2] [--rounds 5]
                                      [--json results.json]

Inputs that are not given are seeded random numbers. An element may differ by `--rtol` of its value
plus `--atol` of the largest of its output, which suits logits of some hundreds. If outputs differ,
intermediate values are compared by bisection in the graph's order, and the first difference is
reported. With --seeded, constants that an export left out (float ConstantOfShape) become random
weights, scaled to keep activations in range. With --threads, latencies are measured alternately,
one process at a time: medians over the rounds, and their ratio. Exit code 0: all agree; 5: one
differs; 6: one is refused, or ONNX Runtime cannot run it.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import onnx
import onnxruntime
from onnx import numpy_helper

ROOT = pathlib.Path(__file__).resolve().parent.parent
TYPES = {"tensor(float)": numpy.float32, "tensor(int64)": numpy.int64, "tensor(int32)": numpy.int32,
         "tensor(bool)": numpy.bool_, "tensor(uint8)": numpy.uint8, "tensor(int8)": numpy.int8}
DIFFERS, REFUSED = 5, 6


def seed_weights(model, random):
    """Replaces float ConstantOfShape nodes of constant shape by initializers."""
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            constants[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
    uses = {}
    for node in model.graph.node:
        for index, name in enumerate(node.input):
            uses.setdefault(name, []).append((node.op_type, index))
    kept = []
    for node in model.graph.node:
        values = [a.t for a in node.attribute if node.op_type == "ConstantOfShape" and a.name == "value"]
        fills = any(value.data_type == onnx.TensorProto.FLOAT for value in values)
        shape = constants.get(node.input[0]) if fills else None
        if shape is None or numpy.prod(shape) <= 64:
            kept.append(node)
            continue
        weights = random.standard_normal([int(d) for d in numpy.atleast_1d(shape)]).astype(numpy.float32)
        used = uses.get(node.output[0], [])
        if any(use == ("BatchNormalization", 4) for use in used):
            weights = 0.8 + 0.2 * abs(weights)  # a variance
        elif any(op.endswith("Normalization") and index == 1 for op, index in used):
            weights = 1 + 0.1 * weights  # a scale
        elif weights.ndim < 2:
            weights *= 0.1  # a bias
        else:
            is_filter = any(op == "Conv" for op, _ in used)
            weights *= 1.4 / max(1.0, numpy.prod(weights.shape[1:]) if is_filter else weights.shape[0]) ** 0.5
        model.graph.initializer.append(numpy_helper.from_array(weights.astype(numpy.float32), node.output[0]))
    del model.graph.node[:]
    model.graph.node.extend(kept)


def make_inputs(session, args, random, folder):
    """Returns the tensors by name, and the options that pass them to `ashlar`."""
    given = dict(text.split("=", 1) for text in args.input)
    shapes = dict(text.split("=", 1) for text in args.shape)
    feeds, options = {}, []
    for index, tensor in enumerate(session.get_inputs()):
        shape = [d if isinstance(d, int) and d > 0 else None for d in tensor.shape]
        if tensor.name in shapes:
            shape = [int(d) for d in shapes[tensor.name].split("x")]
        elif shape and shape[0] is None:
            shape[0] = 1
        if None in shape:
            raise ValueError(f"{tensor.name} is {tensor.shape}: give --shape {tensor.name}=...")
        if tensor.name in given:
            value = numpy.load(given[tensor.name])
        else:
            value = random.standard_normal(shape)
            value = value > 0 if TYPES[tensor.type] != numpy.float32 else value
        feeds[tensor.name] = value.astype(TYPES[tensor.type])
        path = folder / f"input{index}.npy"
        numpy.save(path, feeds[tensor.name])
        options += ["--input", f"{tensor.name}={path}"]
        if list(tensor.shape) != shape:
            options += ["--shape", f"{tensor.name}={'x'.join(map(str, shape))}"]
    return feeds, options


def ort_session(path, threads, outputs=None):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    model = str(path)
    if outputs:
        graph = onnx.load(model)
        del graph.graph.output[:]
        graph.graph.output.extend(onnx.ValueInfoProto(name=name) for name in outputs)
        model = graph.SerializeToString()
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run_ashlar(args, folder, path, options):
    """Returns the outputs by name; the process' result if it failed."""
    out = folder / "outputs.npz"
    result = subprocess.run([args.ashlar, "run", path, "-q", "--threads", "1", "-o", out, *options],
                            capture_output=True, text=True)
    if result.returncode != 0:
        return None, result
    with numpy.load(out) as values:
        return dict(values), result


def excess(ours, theirs, args):
    """Returns the largest difference relative to the tolerance: at most 1 if they agree."""
    if ours.shape != theirs.shape:
        return float("inf")
    if theirs.dtype.kind != "f":
        return float((ours.astype(numpy.int64) != theirs.astype(numpy.int64)).any()) * 2
    if not numpy.array_equal(numpy.isnan(ours), numpy.isnan(theirs)):
        return float("inf")
    if theirs.size == 0:
        return 0.0
    largest = numpy.nanmax(abs(theirs), initial=0)
    allowed = args.rtol * abs(theirs) + args.atol * largest + 1e-30
    return float(numpy.nanmax(abs(ours - theirs) / allowed, initial=0))


def first_difference(args, folder, path, feeds, options):
    """Returns the first differing value of the graph, found by bisection; None if none is found."""
    names = [name for node in onnx.load(path).graph.node for name in node.output if name]

    def differs(index):
        name = names[index]
        ours, _ = run_ashlar(args, folder, path, [*options, "--outputs", name])
        if ours is None:
            return False
        theirs = ort_session(path, 1, [name]).run(None, feeds)[0]
        return excess(ours[name], theirs, args) > 1

    low, high = 0, len(names) - 1
    if not differs(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if differs(middle) else (middle + 1, high)
    return names[low]


def latencies(args, path, feeds, options, threads):
    """Returns the medians in milliseconds, ours and theirs, and the median of the rounds' ratios.
    """
    session = ort_session(path, threads)
    for _ in range(2):
        session.run(None, feeds)
    pairs = []
    for _ in range(args.rounds):
        result = subprocess.run([args.ashlar, "bench", path, "-q", "--json", "--threads", str(threads), "--warmup", "2",
                                 "--iterations", "10", *options], capture_output=True, text=True, check=True)
        times = []
        for _ in range(10):
            start = time.perf_counter()
            session.run(None, feeds)
            times.append((time.perf_counter() - start) * 1e3)
        pairs.append((json.loads(result.stdout)["latency_ms"]["median"], statistics.median(times)))
    return {"ashlar_ms": statistics.median(ours for ours, _ in pairs),
            "onnxruntime_ms": statistics.median(theirs for _, theirs in pairs),
            "ratio": statistics.median(ours / theirs for ours, theirs in pairs)}


def prepare(args, source, folder):
    """Returns the model, with seeded weights if requested; its inputs, and the options that pass
    them.
    """
    random = numpy.random.default_rng(args.seed)
    path = source
    if args.seeded:
        model = onnx.load(source)
        seed_weights(model, random)
        path = folder / "model.onnx"
        onnx.save(model, path)
    return path, *make_inputs(ort_session(path, 1), args, random, folder)


def plan(args, path, options):
    """Returns the arena's bytes and the lower bound of any order and placement."""
    shapes = [option for i, option in enumerate(options) if "--shape" in options[max(i - 1, 0):i + 1]]
    result = subprocess.run([args.ashlar, "plan", path, "-q", "--json", "--threads", "1", *shapes],
                            capture_output=True, text=True, check=True)
    document = json.loads(result.stdout)
    return {"arena_bytes": document["pools"]["arena"]["planned_bytes"],
            "lower_bound_bytes": document["arena"]["lower_bound_bytes"]}


def compare(args, source):
    row = {"model": source.name}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        path, feeds, options = prepare(args, source, folder)
        theirs = ort_session(path, 1).run(None, feeds)
        ours, result = run_ashlar(args, folder, path, options)
        if ours is None:
            return row | {"status": "refused" if result.returncode == REFUSED else "failed", "error": result.stderr.strip()}
        names = [output.name for output in ort_session(path, 1).get_outputs()]
        row["excess"] = max(excess(ours[n], v, args) for n, v in zip(names, theirs))
        row["status"] = "agrees" if row["excess"] <= 1 else "differs"
        if row["status"] == "differs":
            row["first_difference"] = first_difference(args, folder, path, feeds, options)
        row |= plan(args, path, options)
        for threads in args.threads:
            row[f"threads_{threads}"] = latencies(args, path, feeds, options, threads)
    return row


def add_options(parser, threads, rounds):
    """Adds the options that `prepare`, `plan`, `excess` and `latencies` read."""
    parser.add_argument("--ashlar", default=ROOT / "build/release/ashlar")
    parser.add_argument("--shape", action="append", default=[])
    parser.add_argument("--input", action="append", default=[])
    parser.add_argument("--seeded", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rtol", type=float, default=1e-3)
    parser.add_argument("--atol", type=float, default=1e-5)
    parser.add_argument("--threads", type=int, nargs="*", default=threads)
    parser.add_argument("--rounds", type=int, default=rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    add_options(parser, threads=[], rounds=5)
    parser.add_argument("--json", type=pathlib.Path)
    args = parser.parse_args()
    rows = []
    for source in args.models:
        try:
            rows.append(compare(args, source))
        except Exception as error:  # also ONNX Runtime's own types: it cannot run every model
            rows.append({"model": source.name, "status": "not compared", "error": str(error).strip()})
        print(json.dumps(rows[-1]), flush=True)
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n")
    statuses = {row["status"] for row in rows}
    sys.exit(DIFFERS if statuses & {"differs", "failed"} else REFUSED if statuses & {"refused", "not compared"} else 0)


if __name__ == "__main__":
    main()
