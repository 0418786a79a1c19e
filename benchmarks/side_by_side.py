#!/usr/bin/env python3
"""Compares Ashlar with others on the same weights, inputs and threads, interleaved.

    pip install -r benchmarks/requirements.txt    (-r benchmarks/requirements_more.txt: all peers)
    cmake --build --preset release --target ashlar latency_server
    benchmarks/side_by_side.py [--models all] [--peers onnxruntime openvino] [--batch 1 10]
                               [--threads 1 2]

Each system is a long-lived process pinned to the same cores. In every round each gets a burst of k
runs, in rotating order; the first round is dropped. Reported: medians and 90th percentiles over all
runs, and the median of the per-round ratios Ashlar / peer with its interval (ratios.py). The
processor time of other processes meanwhile is printed too. With --contended, another process
computes on the same cores all the time.
"""
import pathlib
import statistics
import subprocess
import sys
import time

import cpu_peers
from ratios import percentile_90, summary

COMPETITOR = "while True: pass"


def compare(args, folder, model, batch, threads):
    import numpy

    files = cpu_peers.make_model(folder, model, batch, args.image)
    source = cpu_peers.make_input(folder, batch, args.image)
    names = ["ashlar"] + args.peers
    outputs = {name: folder / f"{pathlib.Path(name).name}-output-{i}.npy" for i, name in enumerate(names)}
    servers = [cpu_peers.start(name, files, threads, source, outputs[name], args.ashlar_options) for name in names]
    results = {name: numpy.load(path) for name, path in outputs.items()}
    processes = [server.process for server in servers]
    competitor = None
    if args.contended:
        cores = ",".join(str(core) for core in range(threads))
        competitor = subprocess.Popen(["taskset", "-c", cores, sys.executable, "-c", COMPETITOR])
        processes.append(competitor)

    runs = args.runs or max(2, 20 // batch)
    all_times = {name: [] for name in names}
    ratios = {name: [] for name in args.peers}
    for round_number in range(args.rounds + 1):
        if round_number == 1:
            busy, own, start = cpu_peers.busy_ticks(), cpu_peers.ticks_of(processes), time.monotonic()
        turn = round_number % len(servers)
        times = {server.name: server.burst(runs) for server in servers[turn:] + servers[:turn]}
        if round_number == 0:
            continue
        for name, values in times.items():
            all_times[name] += values
        for name in args.peers:
            ratios[name].append(statistics.median(times["ashlar"]) / statistics.median(times[name]))
        if time.monotonic() - start > args.seconds:
            break
    window = cpu_peers.busy_ticks() - busy
    foreign = (window - (cpu_peers.ticks_of(processes) - own)) / max(window, 1)
    if competitor:
        competitor.kill()
        competitor.wait()
    for server in servers:
        server.close()

    row = {"model": model, "batch": batch, "threads": threads, "contended": args.contended,
           "rounds": len(ratios[args.peers[0]]), "runs": runs, "foreign_cpu": foreign, "systems": {}}
    for name in names:
        times = all_times[name]
        entry = {"median_ms": statistics.median(times), "p90_ms": percentile_90(times)}
        if name != "ashlar":
            theirs = results[name]
            difference = abs(results["ashlar"].reshape(theirs.shape) - theirs).max() / abs(theirs).max()
            entry |= summary(ratios[name]) | {"max_relative_difference": float(difference)}
        row["systems"][name] = entry
    return row


def print_row(row):
    ours = row["systems"]["ashlar"]
    for name, peer in row["systems"].items():
        if name == "ashlar":
            continue
        print(f"| {row['model']} | {row['batch']} | {row['threads']} | {name} | {ours['median_ms']:.2f} | "
              f"{peer['median_ms']:.2f} | **{peer['ratio']:.3f}** | {peer['interval'][0]:.3f}, "
              f"{peer['interval'][1]:.3f} ({peer['confidence']:.0%}) | {ours['p90_ms']:.2f} | {peer['p90_ms']:.2f} | "
              f"{row['foreign_cpu']:.1%} | {peer['max_relative_difference']:.0e} |", flush=True)


def main():
    parser = cpu_peers.argument_parser(__doc__, batch=[1, 10], threads=[1, 2], rounds=10, program="latency_server")
    parser.add_argument("--peers", nargs="+", default=["onnxruntime"],
                        help=", ".join(cpu_peers.PROGRAMS) + " (openvino alone: f32), or the folder of another build of Ashlar")
    parser.add_argument("--seconds", type=float, default=1e9, help="no further round after so long; one is always done")
    parser.add_argument("--runs", type=int, help="runs in a burst (default: 20 / batch, at least 2)")
    parser.add_argument("--contended", action="store_true", help="beside a busy process on the same cores")
    args = parser.parse_args()

    cpu_peers.measure_all(
        args, "| model | batch | threads | peer | Ashlar ms | peer ms | ratio | interval | Ashlar p90 | peer p90 | "
        "others' cpu | difference |", compare, print_row)


if __name__ == "__main__":
    main()
