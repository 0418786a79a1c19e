#!/usr/bin/env python3
"""Ashlar against ONNX Runtime on the same weights, inputs and threads, interleaved.

    pip install -r benchmarks/requirements.txt
    cmake --build --preset release --target ashlar latency_server
    benchmarks/versus_onnxruntime.py [--model resnet50] [--batch 1 10] [--threads 1 2]

Each system is a long-lived process pinned to the same cores. In every round each gets a burst of k runs,
in rotating order; the first round is dropped. Reported: medians over all runs, and the median of the
per-round ratios Ashlar / ONNX Runtime. Processor time of others in the window is printed beside it.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"

ORT_SERVER = """
import sys, time, numpy, onnxruntime
model, threads, source, target = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(threads)
options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
feed = {session.get_inputs()[0].name: numpy.load(source)}
for _ in range(3):
    result = session.run(None, feed)[0]
numpy.save(target, result)
print("ready", flush=True)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        start = time.perf_counter()
        session.run(None, feed)
        times.append((time.perf_counter() - start) * 1e3)
    print(" ".join(f"{t:.4f}" for t in times), flush=True)
"""


class Server:
    def __init__(self, name, command, cores):
        self.name = name
        self.process = subprocess.Popen(
            ["taskset", "-c", cores] + command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline().strip() != "ready":
            sys.exit(f"{name} did not start")

    def burst(self, runs):
        self.process.stdin.write(f"{runs}\n")
        self.process.stdin.flush()
        return [float(t) for t in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def busy_ticks():
    fields = [int(x) for x in open("/proc/stat").readline().split()[1:]]
    return sum(fields) - fields[3] - fields[4]


def own_ticks(servers):
    total = 0
    for server in servers:
        fields = open(f"/proc/{server.process.pid}/stat").read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total


def measure(args, folder, batch, threads):
    import numpy

    ash, onnx = folder / f"{args.model}-{batch}.ash", folder / f"{args.model}-{batch}.onnx"
    if not onnx.exists():
        ashlar = str(BUILD / "ashlar")
        subprocess.run([ashlar, "zoo", args.model, "--batch", str(batch), "-o", str(ash)], check=True,
                       stdout=subprocess.DEVNULL)
        subprocess.run([ashlar, "convert", str(ash), "-o", str(onnx)], check=True,
                       stdout=subprocess.DEVNULL)
    source = folder / f"input-{batch}.npy"
    numpy.save(source, numpy.random.default_rng(0).standard_normal((batch, 3, 224, 224), dtype="float32"))
    cores = ",".join(str(core) for core in range(threads))
    outputs = [str(folder / f"{name}.npy") for name in ("ashlar", "onnxruntime")]
    servers = [
        Server("ashlar", [str(BUILD / "latency_server"), str(ash), str(threads), str(source), outputs[0]],
               cores),
        Server("onnxruntime", [sys.executable, "-c", ORT_SERVER, str(onnx), str(threads), str(source),
                               outputs[1]], cores),
    ]
    ours, theirs = (numpy.load(path) for path in outputs)
    error = float(abs(ours.reshape(theirs.shape) - theirs).max() / abs(theirs).max())

    runs = args.runs or max(2, 20 // batch)
    all_times = {server.name: [] for server in servers}
    ratios = []
    busy, own = 0, 0
    for round_number in range(args.rounds + 1):
        if round_number == 1:
            busy, own = busy_ticks(), own_ticks(servers)
        order = servers if round_number % 2 == 0 else servers[::-1]
        times = {server.name: server.burst(runs) for server in order}
        if round_number == 0:
            continue
        for name, values in times.items():
            all_times[name] += values
        ratios.append(statistics.median(times["ashlar"]) / statistics.median(times["onnxruntime"]))
    window = busy_ticks() - busy
    foreign = (window - (own_ticks(servers) - own)) / max(window, 1)
    for server in servers:
        server.close()
    quartiles = statistics.quantiles(ratios, n=4)
    return {
        "model": args.model, "batch": batch, "threads": threads,
        "ashlar_ms": statistics.median(all_times["ashlar"]),
        "onnxruntime_ms": statistics.median(all_times["onnxruntime"]),
        "ratio": statistics.median(ratios), "quartiles": [quartiles[0], quartiles[2]],
        "rounds": args.rounds, "runs": runs, "foreign_cpu": foreign, "max_relative_difference": error,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--runs", type=int, help="runs in a burst (default: 20 / batch, at least 2)")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows to a file, too")
    args = parser.parse_args()
    import onnxruntime

    rows = []
    print(f"onnxruntime {onnxruntime.__version__}, {os.cpu_count()} cores")
    print("model         batch threads  ashlar ms  onnxrt ms  ratio  [quartiles]     others' cpu  difference")
    with tempfile.TemporaryDirectory() as folder:
        for batch in args.batch:
            for threads in args.threads:
                row = measure(args, pathlib.Path(folder), batch, threads)
                rows.append(row)
                print(f"{row['model']:<13} {batch:>5} {threads:>7} {row['ashlar_ms']:>10.2f} "
                      f"{row['onnxruntime_ms']:>10.2f} {row['ratio']:>6.3f}  "
                      f"[{row['quartiles'][0]:.3f}, {row['quartiles'][1]:.3f}] "
                      f"{row['foreign_cpu']:>11.1%}  {row['max_relative_difference']:.1e}", flush=True)
    if args.json:
        args.json.write_text(json.dumps({"onnxruntime": onnxruntime.__version__, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
