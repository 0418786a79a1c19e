#!/usr/bin/env python3
"""Measures loading a model with external weights: time and memory, next to ONNX Runtime.

    pip install onnx onnxruntime numpy
    cmake --build --preset release --target ashlar
    benchmarks/load_onnx.py [--mebibytes 200] [--rounds 5] [--threads 1]

Writes convolutions with seeded weights and runs each program from exec to the end of its first
result, one after the other, with a warm page cache. Peaks are of the resident set (VmHWM); "beyond
weights" is the peak without the size of the weights. `--prefer memory`: kernels whose weights are
no larger than the filters. The peer's time is for importing it, loading and running, in a Python
that is already running.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

BUILD = pathlib.Path(__file__).resolve().parent.parent / "build" / "release"
PEER = """
import sys, time
import numpy
start = time.perf_counter()
import onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
x = session.get_inputs()[0]
session.run(None, {x.name: numpy.zeros(x.shape, numpy.float32)})
print((time.perf_counter() - start) * 1e3)
"""


def write_model(path, mebibytes):
    """Writes convolutions of 512 channels, 3 x 3, on 8 x 8 pixels: 9 MiB each."""
    import numpy
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    channels, random = 512, numpy.random.default_rng(0)
    layers = mebibytes // 9
    nodes, weights, value = [], [], "x"
    for i in range(layers):
        filters = random.standard_normal((channels, channels, 3, 3), numpy.float32) / 48
        weights.append(numpy_helper.from_array(filters, f"w{i}"))
        nodes.append(helper.make_node("Conv", [value, f"w{i}"], [f"c{i}"], pads=[1, 1, 1, 1]))
        nodes.append(helper.make_node("Relu", [f"c{i}"], [f"r{i}"]))
        value = f"r{i}"
    shape = [1, channels, 8, 8]
    graph = helper.make_graph(nodes, "tower", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(value, TensorProto.FLOAT, shape)], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save_model(model, str(path), save_as_external_data=True, location=path.name + ".data")
    return layers * channels * channels * 9 * 4


def run(command):
    """Returns the milliseconds from exec to end, the peak resident bytes, and the output."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]}: exit code {process.returncode}")
    return (time.perf_counter() - start) * 1e3, usage.ru_maxrss * 1024, output


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mebibytes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.write:
        print(write_model(pathlib.Path(args.write), args.mebibytes))
        return
    with tempfile.TemporaryDirectory() as folder:
        model = pathlib.Path(folder) / "tower.onnx"
        # Runs in a separate process, because this process's past memory would count for its
        # children.
        weights = int(subprocess.check_output([sys.executable, __file__, "--write", str(model), "--mebibytes",
                                               str(args.mebibytes)]))
        ours = [str(BUILD / "ashlar"), "run", str(model), "--threads", str(args.threads), "-q"]
        rows = {"Ashlar": ours, "Ashlar, --prefer memory": ours + ["--prefer", "memory"],
                "ONNX Runtime": [sys.executable, "-c", PEER, str(model), str(args.threads)]}
        results = {name: [] for name in rows}
        for round_number in range(args.rounds + 1):  # the first round warms the page cache
            for name, command in rows.items():
                ms, peak, output = run(command)
                own = float(output.split()[-1]) if name == "ONNX Runtime" else ms
                if round_number:
                    results[name].append((own, peak))
    print(f"weights {weights / 2**20:.1f} MiB, medians of {args.rounds} rounds, {args.threads} thread(s)\n")
    print("| | ms to the first result | peak resident MiB | beyond weights |\n|---|---:|---:|---:|")
    for name, runs in results.items():
        ms, peak = (statistics.median(values) for values in zip(*runs))
        print(f"| {name} | {ms:.0f} | {peak / 2**20:.1f} | {(peak - weights) / 2**20:.1f} |")


if __name__ == "__main__":
    main()
