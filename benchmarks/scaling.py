#!/usr/bin/env python3
"""Measures models on more and more threads, beside ONNX Runtime and beside the limit that the
chunks of their loops set.

    pip install -r benchmarks/requirements.txt
    cmake --build --preset release --target ashlar latency_server chunk_schedule
    benchmarks/scaling.py [--models resnet50 mobilenet_v2] [--batch 1 10] [--threads 1 2 4 8]
                          [--peers onnxruntime]

Each system and number of threads is a long-lived process, pinned to the first cores. In every round
each gets a burst, in rotating order; the first round is dropped. Reported: medians of the times,
medians of the rounds' speed-ups over one thread, and the speed-up that chunk_schedule simulates
(work outside of loops, and loops of few or uneven chunks; no shared memory).
"""
import os
import re
import statistics
import subprocess

import cpu_peers


def thread_counts():
    """Returns 1, 2, 4 ... and the number of cores that this process may use."""
    cores = len(os.sched_getaffinity(0))
    return sorted({1 << i for i in range(cores.bit_length()) if 1 << i <= cores} | {cores})


def simulated(model, threads):
    """Returns the simulated speed-up by number of threads."""
    counts = [str(count) for count in threads if count > 1]
    if not counts:
        return {}
    command = [str(cpu_peers.BUILD / "chunk_schedule"), str(model), "--top", "0", "--threads", *counts]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {int(n): float(s) for n, s in re.findall(r"^(\d+) threads: .*speed-up ([\d.]+)", text, re.MULTILINE)}


def compare(args, folder, model, batch):
    files = cpu_peers.make_model(folder, model, batch, args.image)
    source = cpu_peers.make_input(folder, batch, args.image)
    runs = max(2, 20 // batch)
    servers = {(name, threads): cpu_peers.start(name, files, threads, source, folder / "output.npy", args.ashlar_options)
               for name in ["ashlar"] + args.peers for threads in args.threads}
    rounds, keys = [], list(servers)
    for number in range(args.rounds + 1):
        turn = number % len(keys)
        rounds.append({key: statistics.median(servers[key].burst(runs)) for key in keys[turn:] + keys[:turn]})
    for server in servers.values():
        server.close()
    limits = simulated(files[0], args.threads)
    for name, threads in keys:
        ms = statistics.median(each[name, threads] for each in rounds[1:])
        gain = statistics.median(each[name, args.threads[0]] / each[name, threads] for each in rounds[1:])
        limit = f"{limits[threads]:.1f}" if name == "ashlar" and threads in limits else ""
        print(f"| {model} | {batch} | {name} | {threads} | {ms:.3f} | **{gain:.2f}** | {limit} |", flush=True)
        cpu_peers.keep_row(args, {"model": model, "batch": batch, "system": name, "threads": threads, "ms": ms,
                                  "speed_up": gain})


def main():
    parser = cpu_peers.argument_parser(__doc__, batch=[1, 10], threads=thread_counts(), rounds=7,
                                       program="latency_server")
    parser.set_defaults(models=["resnet50", "mobilenet_v2"])
    parser.add_argument("--peers", nargs="*", default=["onnxruntime"], help="as in side_by_side.py")
    args = parser.parse_args()
    print(f"{cpu_peers.machine()}\n\n| model | batch | system | threads | ms | speed-up | by chunks at most |\n"
          "|---|---:|---|---:|---:|---:|---:|")
    with cpu_peers.model_folder(args) as folder:
        for model in cpu_peers.models(args):
            for batch in args.batch:
                compare(args, folder, model, batch)


if __name__ == "__main__":
    main()
