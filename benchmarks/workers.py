#!/usr/bin/env python3
"""Measures 1, 2, 4 ... workers of a model on one machine: memory charged by the kernel, and images
a second.

    pip install -r benchmarks/requirements.txt
    cmake --build --preset release --target ashlar ashlar_shared
    benchmarks/workers.py [--models resnet50] [--workers 1 2 4 8] [--runs 5]

Workers are processes of one thread, in their own memory control group (needs root). The charged
memory is the anonymous memory of the group. The memory of the same interpreters with numpy and the
runtime imported, but without a model, is subtracted. Ashlar's model is packed: its weights are
pages of the file, which exist once in the machine. All workers run at the same time.
"""
import os
import subprocess
import sys

import cpu_peers

sys.path[:0] = [str(cpu_peers.ROOT / "python"), str(cpu_peers.ROOT / "python" / "tests")]
from memory_group import MemoryGroup  # noqa: E402

MIB = 1 << 20


class Workers:
    """Processes of one kind, which perform each step together."""

    def __init__(self, group, count, system, model, runs):
        environment = dict(os.environ, LD_LIBRARY_PATH=str(cpu_peers.BUILD), PYTHONPATH=str(cpu_peers.ROOT / "python"))
        command = " ".join([group.shell(), ";", "exec", *cpu_peers.python("worker.py", system, model, runs)])
        self.processes = [subprocess.Popen(["sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                           env=environment) for _ in range(count)]

    def answers(self):
        return [process.stdout.readline().strip() for process in self.processes]

    def go(self):
        for process in self.processes:
            process.stdin.write("\n")
            process.stdin.flush()

    def close(self):
        for process in self.processes:
            process.stdin.close()
            process.wait()


def measure(count, system, model, runs):
    """Returns the charged bytes, and the images a second of all workers."""
    with MemoryGroup() as group:
        workers = Workers(group, count, system, model, runs)
        if set(workers.answers()) != {"idle"}:
            sys.exit(f"{system}: a worker did not start")
        idle = group.anonymous()
        workers.go()
        if set(workers.answers()) != {"loaded"}:
            sys.exit(f"{system}: a worker did not load {model}")
        workers.go()
        seconds = [float(answer) for answer in workers.answers()]
        charged = group.anonymous() - idle
        workers.go()
        workers.close()
    return charged, sum(runs / one for one in seconds)


def planned(model):
    """Returns the bytes of a worker, and of the weights."""
    os.environ["LD_LIBRARY_PATH"] = str(cpu_peers.BUILD)
    program = ("import sys, ashlar_runtime as a; m = a.load(sys.argv[1]).plan(threads=1).memory; "
               "assert m.weights == m.weights_in_file; print(m.arena + m.input + m.output, m.weights)")
    environment = dict(os.environ, PYTHONPATH=str(cpu_peers.ROOT / "python"))
    output = subprocess.run([sys.executable, "-c", program, str(model)], check=True, capture_output=True, text=True, env=environment)
    return tuple(map(int, output.stdout.split()))


def main():
    parser = cpu_peers.argument_parser(__doc__, batch=1, threads=1, rounds=1, program="ashlar")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4, 8])
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    print(f"{cpu_peers.machine()}, batch {args.batch}, one thread a worker, load {os.getloadavg()[0]:.1f}\n")
    with cpu_peers.model_folder(args) as folder:
        for model in cpu_peers.models(args):
            ash, onnx = cpu_peers.make_model(folder, model, args.batch, args.image)
            packed = ash.with_suffix(".packed.ash")
            cpu_peers.ashlar("convert", ash, "-o", packed, "--pack")
            worker, weights = planned(packed)
            print(f"{model}: weights {weights / MIB:.1f} MiB, once a machine\n\n"
                  "| workers | Ashlar, MiB | planned, MiB | ONNX Runtime, MiB | Ashlar, images/s | ONNX Runtime, images/s |\n"
                  "|---:|---:|---:|---:|---:|---:|")
            for count in args.workers:
                ours, our_rate = measure(count, "ashlar", packed, args.runs)
                theirs, their_rate = measure(count, "onnxruntime", onnx, args.runs)
                print(f"| {count} | **{ours / MIB:.2f}** | {count * worker / MIB:.2f} | {theirs / MIB:.0f} | "
                      f"{args.batch * our_rate:.1f} | {args.batch * their_rate:.1f} |", flush=True)
                cpu_peers.keep_row(args, {"model": model, "workers": count, "ashlar_bytes": ours, "planned_bytes": count * worker,
                                          "weights_bytes": weights, "onnxruntime_bytes": theirs, "ashlar_rate": our_rate,
                                          "onnxruntime_rate": their_rate})
            print()


if __name__ == "__main__":
    main()
