#!/usr/bin/env python3
"""Compares a training step with PyTorch's: time, interleaved, and memory without weights, momentum
and images.

    pip install torch torchvision
    cmake --build --preset release --target ashlar
    benchmarks/training.py [--models resnet50 mobilenet_v2] [--batch 8] [--threads 1 2]
                           [--recompute none cheap]

In every round each gets some steps on the same cores, alternately; the first round is dropped.
Reported: medians over all steps; the median of the per-round ratios Ashlar / PyTorch; the ratios to
the first `--recompute`, next to the plans' predictions. Ashlar's memory is the arena that `bench`
planned and used, PyTorch's the peak of its allocator (peers/pytorch_train.py).
"""
import json
import statistics
import subprocess

import cpu_peers


def steps_of(model, batch, threads, recompute, steps):
    """Returns the milliseconds of a step, the median of several, and the arena's bytes."""
    command = [str(cpu_peers.BUILD / "ashlar"), "bench", str(model), "--train", "--batch", str(batch), "--recompute", recompute,
               "--threads", str(threads), "--iterations", str(steps), "--warmup", "1", "--json", "-q"]
    cores = ",".join(str(core) for core in range(threads))
    document = json.loads(subprocess.run(["taskset", "-c", cores, *command], check=True, capture_output=True, text=True).stdout)
    return document["latency_ms"]["median"], document["memory"]["arena_bytes"]


def predicted(model, batch, threads, recompute):
    """Returns the predicted milliseconds of a step."""
    command = [str(cpu_peers.BUILD / "ashlar"), "plan", str(model), "--train", "--batch", str(batch), "--recompute", recompute,
               "--threads", str(threads), "--json", "-q"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["predicted_ms"]


def compare(args, model, path, threads):
    given = [model, args.batch, threads]
    memory = int(subprocess.run(cpu_peers.python("pytorch_train.py", "memory", *given), check=True, capture_output=True,
                                text=True).stdout)
    peer = cpu_peers.Server("pytorch", cpu_peers.python("pytorch_train.py", "bursts", *given),
                            ",".join(str(core) for core in range(threads)))
    times = {name: [] for name in ["pytorch", *args.recompute]}
    arenas = {}
    for _ in range(args.rounds + 1):
        times["pytorch"].append(statistics.median(peer.burst(args.steps)))
        for recompute in args.recompute:
            milliseconds, arenas[recompute] = steps_of(path, args.batch, threads, recompute, args.steps)
            times[recompute].append(milliseconds)
    peer.close()
    base = args.recompute[0]
    expected = {recompute: predicted(path, args.batch, threads, recompute) for recompute in args.recompute}
    for recompute in args.recompute:
        overhead = [ours / first for ours, first in zip(times[recompute][1:], times[base][1:])]
        ratios = [ours / theirs for ours, theirs in zip(times[recompute][1:], times["pytorch"][1:])]
        row = {"model": model, "batch": args.batch, "threads": threads, "recompute": recompute,
               "ms": statistics.median(times[recompute][1:]), "pytorch_ms": statistics.median(times["pytorch"][1:]),
               "ratio": statistics.median(ratios), "overhead": statistics.median(overhead),
               "predicted": expected[recompute] / expected[base], "arena_mb": arenas[recompute] / 1e6, "pytorch_mb": memory / 1e6}
        print("| {model} | {threads} | {recompute} | {ms:.0f} | {pytorch_ms:.0f} | {ratio:.2f} | {overhead:.3f} | {predicted:.3f} | "
              "{arena_mb:.1f} | {pytorch_mb:.1f} |".format(**row), flush=True)
        cpu_peers.keep_row(args, row)


def main():
    parser = cpu_peers.argument_parser(__doc__, batch=8, threads=[1, 2], rounds=3, program="nothing")
    parser.add_argument("--recompute", nargs="+", default=["none", "cheap"])
    parser.add_argument("--steps", type=int, default=2, help="a round")
    parser.set_defaults(models=["resnet50", "mobilenet_v2"])
    args = parser.parse_args()
    print("| model | threads | recompute | ms | PyTorch | ratio | to the first | predicted | arena, MB | PyTorch |\n"
          "|---|---:|---|---:|---:|---:|---:|---:|---:|---:|")
    with cpu_peers.model_folder(args) as folder:
        for model in cpu_peers.models(args):
            path = folder / f"{model}.ash"
            if not path.exists():
                cpu_peers.ashlar("zoo", model, "-o", path)
            for threads in args.threads:
                compare(args, model, path, threads)


if __name__ == "__main__":
    main()
