#!/usr/bin/env python3
"""Measures each operator of a model with one thread and with several, and the loss: the excess of
the latter over an equal share of the former.

    cmake --build --preset release --target ashlar
    benchmarks/thread_scaling.py resnet50.ash [--threads 2] [--rounds 8] [--top 20]
                                 [--ashlar build/release/ashlar]

Profiles alternate, and the least time of each operator counts: the rest is imbalance, waiting, and
shared resources, such as the memory bus. Kernels are chosen by the table. Quote the processor and
other load with the figures.
"""
import argparse
import json
import subprocess


def profile(ashlar, model, threads):
    command = [ashlar, "profile", model, "--threads", str(threads), "--no-autotune", "--sort", "order", "--top", "0", "--quiet", "--json"]
    document = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return {row["name"]: row for row in document["rows"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--threads", type=int, default=2, help="beside one (default 2)")
    parser.add_argument("--rounds", type=int, default=8, help="profiles of each number of threads (default 8)")
    parser.add_argument("--top", type=int, default=20, help="operators that lose most (default 20)")
    parser.add_argument("--ashlar", default="build/release/ashlar")
    options = parser.parse_args()
    if options.rounds < 1 or options.top < 1 or options.threads < 2:
        parser.error("--rounds and --top take numbers from 1, --threads from 2")
    most = options.threads
    least = {threads: {} for threads in (1, most)}
    kernels = {}
    for _ in range(options.rounds):
        for threads in least:
            for name, row in profile(options.ashlar, options.model, threads).items():
                least[threads][name] = min(row["ms"], least[threads].get(name, row["ms"]))
                if threads == most:
                    kernels[name] = row.get("kernel") or ""
    one, many = least[1], least[most]
    common = [name for name in one if many.get(name, 0) > 0]
    sums = [sum(of[name] for name in common) for of in (one, many)]
    print(f"| operator | kernel on {most} threads | 1 thread, ms | {most} threads, ms | speed-up | lost, ms |\n"
          "|---|---|---:|---:|---:|---:|")
    print(f"| all {len(common)} | | {sums[0]:.2f} | {sums[1]:.2f} | {sums[0] / sums[1]:.2f} | "
          f"{sums[1] - sums[0] / most:.3f} |")
    common.sort(key=lambda name: one[name] / most - many[name])
    for name in common[: options.top]:
        print(f"| {name} | {kernels[name]} | {one[name]:.3f} | {many[name]:.3f} | {one[name] / many[name]:.2f} | "
              f"{many[name] - one[name] / most:.3f} |")


if __name__ == "__main__":
    main()
