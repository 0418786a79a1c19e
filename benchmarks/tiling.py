#!/usr/bin/env python3
"""Measures all figures of benchmarks/results/tiling.md.

Usage: tiling.py PART...   with PART among plans, frontier, proofs, times (default: all)
   --ashlar PATH   the command (default: build/release/ashlar)
   --wrap COMMAND  put before every timed process (default: none)

plans     budgets: arena, bound, extra FLOPs, and the time of planning on one core with the search
frontier  ResNet-50 at batch 10: predicted and measured time of every point, 1 and 2 threads
proofs    `ashlar verify` of every point of that curve
times     ratios of tiled plans to the untiled one, processes interleaved, the median of each
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile

MODELS = {
    "resnet50-b10": "resnet50 --batch 10",
    "resnet50": "resnet50",
    "resnet50-2048": "resnet50 --image 2048 --headless",
    "vgg19-1024": "vgg19 --image 1024 --headless",
    "vgg19": "vgg19",
    "resnet18": "resnet18",
    "mobilenet_v2": "mobilenet_v2",
    "squeezenet": "squeezenet",
    "inception_v1": "inception_v1",
    "tiling_chain": "tiling_chain --image 16",
}

# Budgets and allowed recomputation.
PLANS = [
    ("resnet50-b10", "5.6MB", 0), ("resnet50-b10", "3.3MB", 0), ("resnet50-b10", "2.5MB", 0),
    ("resnet50-b10", "2.1MB", 0), ("resnet50-b10", "min", 0), ("resnet50", "3.3MB", 0),
    ("resnet50", "min", 0), ("resnet50-2048", "135MB", 0), ("resnet50-2048", "70MB", 0),
    ("resnet50-2048", "min", 0), ("vgg19-1024", "68MB", 0), ("vgg19-1024", "35MB", 0),
    ("vgg19-1024", "min", 0), ("vgg19", "min", 0), ("resnet18", "min", 0),
    ("mobilenet_v2", "min", 0), ("squeezenet", "min", 0), ("inception_v1", "min", 0),
    ("tiling_chain", "min", 0),
]

TIMES = ["", "0-475:batch10", "0-931:batch10", "0-955:batch10", "0-931:batch5", "@3.3MB", "@2.5MB"]
ROUNDS = 3


class Bench:
    def __init__(self, ashlar, wrap, folder):
        self.ashlar, self.wrap, self.folder = ashlar, wrap, folder

    def model(self, name):
        path = os.path.join(self.folder, name + ".ash")
        if not os.path.exists(path):
            subprocess.run([self.ashlar, "zoo", *MODELS[name].split(), "-o", path, "--quiet"],
                           check=True, stdout=subprocess.DEVNULL)
        return path

    def json(self, *arguments, timed=False):
        """Returns the document that a command writes; empty if it fails."""
        result = os.path.join(self.folder, "result.json")
        command = [self.ashlar, *arguments, f"--json={result}", "--quiet"]
        done = subprocess.run((self.wrap if timed else []) + command, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            print(" ".join(command), "ends with", done.returncode, done.stderr, file=sys.stderr)
            return {}
        with open(result) as file:
            return json.load(file)


def plans(bench):
    print("| model | budget | arena | lower bound | extra FLOPs | tiles | planned in ms |")
    print("|---|---|---:|---:|---:|---|---:|")
    for name, budget, extra in PLANS:
        plan = bench.json("plan", bench.model(name), "--threads", "1", "--memory-budget", budget,
                          "--max-extra-flops", str(extra), timed=True)
        prefer = ", `--prefer memory`" if plan["prefer"] == "memory" else ""
        print(f"| {name} | {budget} | {plan['pools']['arena']['planned_bytes']} "
              f"| {plan['arena']['lower_bound_bytes']} | {plan['extra_flops_ratio']:.1%} "
              f"| `{plan['tile']}`{prefer} | {plan['plan_ms']:.0f} |", flush=True)


def frontier(bench):
    for threads in ("1", "2"):
        curve = bench.json("plan", bench.model("resnet50-b10"), "--threads", threads, "--frontier",
                           "-o", os.path.join(bench.folder, f"frontier-{threads}.svg"),
                           timed=True)["frontier"]
        print(f"\n| arena ({threads} threads) | predicted | measured | off | time | tiles |")
        print("|---:|---:|---:|---:|---:|---|")
        for point in curve:
            measured, predicted = point["measured_ms"], point["predicted_ms"]
            print(f"| {point['arena_bytes']} | {predicted:.0f} ms | {measured:.0f} ms "
                  f"| {predicted / measured - 1:+.0%} | {measured / curve[0]['measured_ms']:.2f}x "
                  f"| `{point['tile'] or '(none)'}` |", flush=True)


def proofs(bench):
    model = bench.model("resnet50-b10")
    print("\n| tiles | planned | actual | heap calls | ok |")
    print("|---|---:|---:|---:|---|")
    for point in bench.json("plan", model, "--frontier")["frontier"]:
        tile = ["--tile", point["tile"] or "none"]  # regardless of tuned tiles
        proof = bench.json("verify", model, *tile)
        arena = proof["pools"]["arena"]
        print(f"| `{point['tile'] or '(none)'}` | {arena['planned_bytes']} "
              f"| {arena['actual_bytes']} | {proof['heap']['own_calls']} | {proof['ok']} |",
              flush=True)


def times(bench):
    model = bench.model("resnet50-b10")
    for threads in ("1", "2"):
        specs = {}
        for tile in TIMES:
            options = ["--tile", tile or "none"]
            if tile.startswith("@"):
                plan = bench.json("plan", model, "--threads", threads, "--memory-budget", tile[1:])
                options = ["--tile", plan["tile"], "--prefer", plan["prefer"]]
            specs[tile] = options
        samples = {tile: [] for tile in specs}
        for _ in range(ROUNDS):
            for tile, options in specs.items():
                run = bench.json("bench", model, "--threads", threads, "--iterations", "5", "--warmup",
                                 "2", *options, timed=True)
                samples[tile].append(run["latency_ms"]["median"])
        base = statistics.median(samples[""])
        print(f"\n| tiles | {threads} threads, ms | to untiled |\n|---|---:|---:|")
        for tile, values in samples.items():
            median = statistics.median(values)
            print(f"| {tile} `{specs[tile][1]}` | {median:.1f} | {median / base:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"plans": plans, "frontier": frontier, "proofs": proofs, "times": times}
    parser.add_argument("part", nargs="*", choices=[[], *parts])
    parser.add_argument("--ashlar", default="build/release/ashlar")
    parser.add_argument("--wrap", default="")
    parser.add_argument("--folder", default="", help="where models are kept (default: temporary)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments.ashlar, shlex.split(arguments.wrap), arguments.folder or folder)
        for part in arguments.part or parts:
            parts[part](bench)


if __name__ == "__main__":
    main()
