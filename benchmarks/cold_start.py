#!/usr/bin/env python3
"""Measures the time from the start of a process to its first result, and its peak memory.

    pip install -r benchmarks/requirements.txt
    cmake --build --preset release --target ashlar
    benchmarks/cold_start.py [--models resnet50] [--batch 1] [--threads 2]

The page cache is warm. Ashlar's time is the whole command `ashlar run`, from before exec until its
end, output written. The peer's time counts only its own work in a running Python process with numpy
loaded: importing it, loading the model and the first run. Its memory is the growth over the process
before. "whole" is the same process from exec to end, with all of its memory.
"""
import os
import statistics
import subprocess
import sys
import time

import cpu_peers


def run(command, cores):
    """Returns the milliseconds from exec to end, the peak resident KiB, and the output."""
    start = time.perf_counter()
    process = subprocess.Popen(["taskset", "-c", cores] + command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]}: exit code {process.returncode}")
    return (time.perf_counter() - start) * 1e3, usage.ru_maxrss, output


def measure(args, folder, model, batch):
    cores = ",".join(str(core) for core in range(args.threads))
    ash, onnx = cpu_peers.make_model(folder, model, batch, args.image)
    packed = ash.with_suffix(".packed.ash")
    cpu_peers.ashlar("convert", ash, "-o", packed, "--pack", *args.ashlar_options)
    source = cpu_peers.make_input(folder, batch, args.image)

    def ours(file):
        return [str(cpu_peers.BUILD / "ashlar"), "run", str(file), "--input", str(source), "--threads",
                str(args.threads), "--top", "1", "-o", str(folder / "out.npz"), *args.ashlar_options]

    def theirs(optimised):
        return cpu_peers.python("onnx_runtime.py", "cold", onnx, args.threads, source, optimised)

    run(theirs("write"), cores)
    commands = {"Ashlar, packed": ours(packed), "Ashlar, unpacked": ours(ash), "ONNX Runtime": theirs("plain"),
                "ONNX Runtime, pre-optimised": theirs("read")}
    rows = {name: {"ms": [], "mib": [], "whole_ms": [], "whole_mib": []} for name in commands}
    for round_number in range(args.rounds + 1):  # the first round warms the page cache
        for name, command in commands.items():
            ms, kib, output = run(command, cores)
            own = [float(x) for x in output.split()] if name.startswith("ONNX") else [ms, kib]
            if round_number == 0:
                continue
            for key, value in zip(rows[name], (own[0], own[1] / 1024, ms, kib / 1024)):
                rows[name][key].append(value)
    return {name: {key: statistics.median(values) for key, values in row.items()} for name, row in rows.items()}


def main():
    args = cpu_peers.argument_parser(__doc__, batch=1, threads=2, rounds=7, program="ashlar").parse_args()

    print(f"{cpu_peers.machine()}, {args.threads} threads, batch {args.batch}, median of {args.rounds}\n")
    print("| model | system | first result ms | peak MiB | whole process ms | whole process MiB |\n"
          "|---|---|---|---|---|---|")
    with cpu_peers.model_folder(args) as folder:
        for model in cpu_peers.models(args):
            rows = measure(args, folder, model, args.batch)
            for name, row in rows.items():
                print(f"| {model} | {name} | {row['ms']:.1f} | {row['mib']:.1f} | {row['whole_ms']:.1f} | "
                      f"{row['whole_mib']:.1f} |", flush=True)
            ours, plain, optimised = (rows[n] for n in ("Ashlar, packed", "ONNX Runtime",
                                                        "ONNX Runtime, pre-optimised"))
            print(f"\n{model}, packed: first result {ours['ms'] / plain['ms']:.3f} of ONNX Runtime's, "
                  f"{ours['ms'] / optimised['ms']:.3f} of its pre-optimised model's; peak "
                  f"{ours['mib'] / plain['mib']:.3f} and {ours['mib'] / plain['whole_mib']:.3f} (of the whole "
                  "process)\n", flush=True)
            cpu_peers.keep_row(args, {"model": model, "batch": args.batch, "rows": rows})


if __name__ == "__main__":
    main()
