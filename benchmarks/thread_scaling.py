#!/usr/bin/env python3
"""Measures each operator of a model with one thread and with two, and the loss: the excess of the
latter over half of the former.

    cmake --build --preset release --target ashlar
    benchmarks/thread_scaling.py resnet50.ash [--rounds 8] [--top 20]
                                 [--ashlar build/release/ashlar]

Profiles alternate, and the least time of each operator counts: the rest is imbalance, waiting, and
shared resources, such as the memory bus. Kernels are chosen by the table. Quote the processor and
other load with the figures.
"""
import argparse
import json
import subprocess

THREADS = (1, 2)


def profile(ashlar, model, threads):
    command = [ashlar, "profile", model, "--threads", str(threads), "--no-autotune", "--sort", "order", "--top", "0", "--quiet", "--json"]
    document = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {row["name"]: row for row in document["rows"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--rounds", type=int, default=8, help="profiles of each number of threads (default 8)")
    parser.add_argument("--top", type=int, default=20, help="operators that lose most (default 20)")
    parser.add_argument("--ashlar", default="build/release/ashlar")
    options = parser.parse_args()
    if options.rounds < 1 or options.top < 1:
        parser.error("--rounds and --top take numbers from 1")
    least = {threads: {} for threads in THREADS}
    kernels = {}
    for _ in range(options.rounds):
        for threads in THREADS:
            for name, row in profile(options.ashlar, options.model, threads).items():
                least[threads][name] = min(row["ms"], least[threads].get(name, row["ms"]))
                if threads == THREADS[-1]:
                    kernels[name] = row.get("kernel") or ""
    one, two = (least[threads] for threads in THREADS)
    common = [name for name in one if two.get(name, 0) > 0]
    sums = [sum(of[name] for name in common) for of in (one, two)]
    print("| operator | kernel on two threads | 1 thread, ms | 2 threads, ms | speed-up | lost, ms |\n|---|---|---:|---:|---:|---:|")
    print(f"| all {len(common)} | | {sums[0]:.2f} | {sums[1]:.2f} | {sums[0] / sums[1]:.2f} | {sums[1] - sums[0] / 2:.3f} |")
    common.sort(key=lambda name: one[name] / 2 - two[name])
    for name in common[: options.top]:
        print(f"| {name} | {kernels[name]} | {one[name]:.3f} | {two[name]:.3f} | {one[name] / two[name]:.2f} | {two[name] - one[name] / 2:.3f} |")


if __name__ == "__main__":
    main()
