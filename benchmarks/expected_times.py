#!/usr/bin/env python3
"""Measures how near the expected times of kernels are, on an idle machine.

    pip install onnx numpy
    cmake --build --preset release --target ashlar
    benchmarks/expected_times.py [--ashlar build/release/ashlar] [--nets tests/data/int8/nets.json]
        [--models detector.onnx ...] [--smallest] [--threads 1] > benchmarks/results/expected-times.md

`ashlar tune` first measures the speeds of the processor. Then `ashlar profile` runs ResNet-50 and
MobileNetV2 in Float32, the networks of nets.json in 8 bits, and other models, whole and, with
--smallest, in their smallest plans without operations done twice. Rows are sums over the kernels of
a kind; "near" is the share of their measured time that kernels take whose expected time is at most
25 % off. Kernels below a microsecond count in sums alone: the clock is too coarse for them.
"""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import small_memory

NEAR, LEAST_MS = 0.25, 0.001


def run(*command, **options):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: {done.stderr}")
    return done.stdout


def kinds(rows):
    """Returns {kind: [steps, measured, expected, measured of near ones, measured of comparable ones]}."""
    sums = collections.defaultdict(lambda: [0, 0.0, 0.0, 0.0, 0.0])
    for row in rows:
        kind = sums[re.sub(r"[ /].*", "", row["kernel"])]
        measured, expected = row["ms"], row["expected_ms"]
        kind[0] += 1
        kind[1] += measured
        kind[2] += expected
        if measured >= LEAST_MS:
            kind[3] += measured if abs(expected / measured - 1) <= NEAR else 0
            kind[4] += measured
    return sums


def main():
    parser = small_memory.network_parser(__doc__)
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--smallest", action="store_true")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=10)
    arguments = parser.parse_args()
    nets = small_memory.read_networks(arguments.nets)
    threads = ["--threads", arguments.threads]
    print("| plan | steps | measured, ms | expected, ms | ratio |\n|---|" + "---:|" * 4)
    all_rows = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        models = [pathlib.Path(model) for model in arguments.models]
        for name in ("resnet50", "mobilenet_v2"):
            models.append(folder / f"{name}.ash")
            run(arguments.ashlar, "zoo", name, "-o", models[-1])
        for name, net in nets.items():
            models.append(folder / f"{name}.onnx")
            small_memory.add_network(net, str(models[-1]))
        record = folder / "kernels.json"
        environment = dict(os.environ, ASHLAR_KERNELS=str(record))
        run(arguments.ashlar, "tune", models[-1], *threads, "--duration", "10ms", "--kernels", record)

        def profile(title, model, options):
            text = run(arguments.ashlar, "profile", model, *threads, *options, "--iterations", arguments.iterations,
                       "--top", "0", "--json", env=environment)
            document = json.loads(text)
            measured, expected = document["total_ms"], document["expected_ms"]
            all_rows.extend(document["rows"])
            print(f"| {title} | {len(document['rows'])} | {measured:.3f} | {expected:.3f} | {expected / measured:.2f} |",
                  flush=True)

        for model in models:
            profile(f"{model.stem}, whole", model, [])
            if not arguments.smallest:
                continue
            plan = json.loads(run(arguments.ashlar, "plan", model, *threads, "--memory-budget", "min",
                                  "--max-extra-flops", "0", "--json", env=environment))
            profile(f"{model.stem}, smallest", model, plan["repeat"])
    print("\n| kernels | steps | measured, ms | expected, ms | ratio | near |\n|---|" + "---:|" * 5)
    for kind, (steps, measured, expected, near, comparable) in sorted(kinds(all_rows).items(), key=lambda x: -x[1][1]):
        share = f"{100 * near / comparable:.0f} %" if comparable > 0 else "-"
        print(f"| {kind} | {steps} | {measured:.3f} | {expected:.3f} | {expected / max(measured, 1e-9):.2f} | {share} |")


if __name__ == "__main__":
    main()
