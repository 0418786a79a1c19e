#!/usr/bin/env python3
"""Quantises exported models with `ashlar quantize`, and measures them next to their own floats, and
next to ONNX Runtime and OpenVINO on the same QDQ file.

    pip install -r benchmarks/requirements.txt
    cmake --build --preset release --target ashlar
    benchmarks/eight_bits_exports.py ../shared/data/onnx/exports/mobilenet_v3_large.dynamo.onnx ... --seeded

Arenas in KiB and their ratio; latencies are medians of alternating rounds: 8 bits over own floats,
and 8 bits over ONNX Runtime's run of the file that `quantize` writes. Calibration: normal random
numbers, as weights are. The last column names operators that stay in floats. OpenVINO (default
precision) runs after the others.
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

import compare_onnxruntime as compare
import cpu_peers


def shapes_of(options):
    return [option for i, option in enumerate(options) if "--shape" in options[max(i - 1, 0):i + 1]]


def quantize(args, path, feeds, options, folder):
    """Returns the QDQ file and the report of `ashlar quantize`."""
    random = numpy.random.default_rng(args.seed)
    numpy.savez(folder / "samples.npz", **{
        name: numpy.concatenate([random.standard_normal(value.shape).astype(value.dtype) for _ in range(args.samples)])
        for name, value in feeds.items()})
    made = folder / "int8.onnx"
    result = subprocess.run([args.ashlar, "quantize", path, *shapes_of(options), "--calibrate", folder / "samples.npz",
                             "-o", made, "--json"], capture_output=True, text=True, check=True)
    return made, json.loads(result.stdout)


def run_openvino(path, feeds, threads, runs):
    import openvino

    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1})
    request, times = compiled.create_infer_request(), []
    for _ in range(3 + runs):
        start = time.perf_counter()
        request.infer(feeds)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[3:])


def openvino_ms(args, path, feeds, threads):
    """Returns the median of OpenVINO's runs of the same file, in a process of its own, as it ends on
    some; None if it does not run it.
    """
    with tempfile.NamedTemporaryFile(suffix=".npz") as file:
        numpy.savez(file.name, **feeds)
        result = subprocess.run([sys.executable, __file__, "--openvino", path, file.name, str(threads),
                                 str(10 * args.rounds)], capture_output=True, text=True)
    return float(result.stdout.split()[-1]) if result.returncode == 0 else None


def measure(args, source, folder):
    path, feeds, options = compare.prepare(args, source, folder)
    made, report = quantize(args, path, feeds, options, folder)
    inputs = [option for option in options if option not in shapes_of(options)]
    arenas = [compare.plan(args, file, some)["arena_bytes"] for file, some in ((path, options), (made, []))]
    floats = [f"{layer['name']} ({layer['type']})" for layer in report["layers"] if not layer["in_8_bits"]]
    cells = [source.stem, *(f"{arena / 1024:,.0f}" for arena in arenas), f"{arenas[1] / arenas[0]:.3f}"]
    for threads in args.threads:
        own = compare.latencies(args, path, feeds, options, threads)
        ours = compare.latencies(args, made, feeds, inputs, threads)
        cells += [f"{own['ashlar_ms']:.2f}", f"{ours['ashlar_ms']:.2f}", f"{ours['onnxruntime_ms']:.2f}",
                  f"{ours['ashlar_ms'] / own['ashlar_ms']:.3f}", f"{ours['ratio']:.3f}"]
        other = openvino_ms(args, made, feeds, threads)
        cells += ["", ""] if other is None else [f"{other:.2f}", f"{ours['ashlar_ms'] / other:.3f}"]
    more = "" if len(floats) <= 3 else f" and {len(floats) - 3} more"
    return f"| {' | '.join(cells)} | {', '.join(floats[:3]) or '-'}{more} |"


def main():
    if sys.argv[1:2] == ["--openvino"]:
        path, feeds, threads, runs = sys.argv[2:]
        with numpy.load(feeds) as values:
            print(run_openvino(path, list(values.values()), int(threads), int(runs)))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=4)
    compare.add_options(parser, threads=[1], rounds=5)
    args = parser.parse_args()
    heads = ["model", "arena of floats", "of 8 bits", "ratio"]
    for threads in args.threads:
        heads += [f"floats ms, {threads} threads", "8 bits ms", "ONNX Runtime's 8 bits ms", "8 bits / own floats",
                  "/ ONNX Runtime's", "OpenVINO's ms", "/ OpenVINO's"]
    print(f"{cpu_peers.machine()}\n\n| {' | '.join([*heads, 'in floats'])} |\n|---|{'---:|' * (len(heads) - 1)}---|")
    for source in args.models:
        with tempfile.TemporaryDirectory() as folder:
            print(measure(args, source, pathlib.Path(folder)), flush=True)


if __name__ == "__main__":
    main()
