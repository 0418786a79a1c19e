#!/usr/bin/env python3
"""Compares ResNet-50 on one GPU: Ashlar, PyTorch (eager, CUDA graph, torch.compile) and JAX,
interleaved.

    benchmarks/versus_gpu_frameworks.py --build build/release --tune --json speed.jsonl
    benchmarks/versus_gpu_frameworks.py --peers graph compile freeze --precision fp16 --json speed.jsonl
    benchmarks/versus_gpu_frameworks.py --table speed.jsonl      # Markdown, for benchmarks/results
    benchmarks/versus_gpu_frameworks.py --planned --build build/release     # memory; needs no GPU

Each system is a long-lived process with its tensors on the GPU. In every round each gets a burst of
runs, in rotating order, and synchronises after each run, by the host's clock; the first round is
dropped. All have the same layers (the stride in the 3x3 convolutions) and channels last; weights
are random. Ashlar also converts from fp32 in NCHW and back and ends in a softmax, unlike PyTorch.
Reported: medians over all runs, and the median of the per-round ratios to each other system.

A row includes its error: the largest difference of Ashlar's outputs from the outputs of the CPU's
exact kernels, over the largest output. A row beyond the tolerance of its precision counts as wrong,
and the next call measures it again.

A row is a batch in a precision. It is written when measured, or as far as it is measured when time
(--limit) is out or the process is told to end. `inductor` is torch.compile(mode="reduce-overhead").
`compile` is torch.compile(mode="max-autotune") and takes minutes a row; `freeze` is the same, and
`folded` a CUDA graph, with normalisation folded into the filters.
"""
import argparse
import datetime
import importlib.metadata
import json
import math
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import gpu_peers
import gpu_tables

OPTIONS = {"fp32": [], "tf32": ["--allow-tf32"], "fp16": ["--precision", "fp16"], "bf16": ["--precision", "bf16"]}
SLOW = ("compile", "freeze")


class Ashlar:
    """The command of a build, on gpu0:0."""

    def __init__(self, build, libraries=None):
        self.build = build
        self.environment = dict(os.environ)
        if libraries:
            self.environment["LD_LIBRARY_PATH"] = libraries

    def run(self, *arguments, json_output=False, timeout=None):
        """Returns stdout, or the JSON document; CalledProcessError and TimeoutExpired with its
        messages.
        """
        command = [str(self.build / "ashlar"), *map(str, arguments), "--quiet"] + ["--json"] * json_output
        output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=timeout,
                                env=self.environment).stdout
        return json.loads(output) if json_output else output

    def tune(self, *arguments, timeout):
        """Returns the times of engines by `ashlar tune`, in JSON. At the timeout it is interrupted,
        and records the engines timed so far.
        """
        command = [str(self.build / "ashlar"), "tune", *map(str, arguments), "--quiet", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=self.environment) as process:
            try:
                try:
                    output, errors = process.communicate(timeout=timeout)
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGINT)
                    output, errors = process.communicate(timeout=10)
            except BaseException:  # also when told to end
                process.kill()
                raise
        if process.returncode != 0 and not is_timed(output):
            raise subprocess.CalledProcessError(process.returncode, command, output, errors)
        return output

    def model(self, folder, batch):
        path = folder / f"resnet50-{batch}.ash"
        if not path.exists():
            unfinished = path.with_suffix(".part.ash")
            self.run("zoo", "resnet50", "--batch", batch, "-o", unfinished)
            unfinished.rename(path)
        return path

    def plan(self, model, precision, *options):
        return self.run("plan", model, "--device", "gpu0:0", *OPTIONS[precision], *options, json_output=True)


def reason_of(error):
    words = error.stderr if isinstance(error.stderr, str) else (error.stderr or b"").decode(errors="replace")
    return " | ".join([str(error).split("]")[-1].strip()] + words.strip().splitlines()[-5:])


def is_timed(trials):
    """Whether a document of `ashlar tune` has a problem with any timed kernel."""
    try:
        return any(trial["ms"] > 0 for problem in json.loads(trials)["problems"] for trial in problem["trials"])
    except (ValueError, KeyError):
        return False


def versions(ashlar, limits, commit):
    """Returns the versions and the machine for every row."""
    facts = {}
    try:
        facts = ashlar.run("doctor", json_output=True, timeout=60)["facts"]
    except (subprocess.SubprocessError, OSError) as error:
        print(f"doctor: {error}", file=sys.stderr)
    found = {"ashlar": commit}
    for package in ("torch", "jax"):
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            pass
    if "cudnn" in limits:
        found["torch's CUDA, cuDNN"] = f"{limits['cuda']}, {limits['cudnn']}"
    own = [name for name in facts if name.startswith("CUDA")]
    return {"device": limits.get("device") or gpu_peers.smi("name"), "driver": gpu_peers.smi("driver_version"),
            "versions": found, "doctor": {name: facts[name] for name in own}}


def shares(rows, flops, transferred):
    """Returns by operator kind the milliseconds, and the share of them that the device's limits
    (operations, bandwidth) require.
    """
    kinds = {}
    for row in rows:
        floor = max(row["computation"] / flops, row["memory"] / transferred) * 1e3
        kinds[row["type"]] = {"ms": row["ms"], "share": floor / row["ms"] if row["ms"] > 0 else None}
    return kinds


def rows_of(path, what, batch, precision):
    """Returns the correct rows of this build on this device in a file, which may not exist."""
    rows = gpu_tables.read_rows(path) if path and path.exists() else []
    return [row for row in rows
            if (row["versions"]["ashlar"], row["device"], row["batch"], row["precision"])
            == (what["versions"]["ashlar"], what["device"], batch, precision) and not row.get("wrong")]


def limits_of(folder, timeout):
    """Returns the limits of the device, measured once for a folder."""
    path, device = folder / "limits.json", gpu_peers.smi("name")
    if path.exists():
        limits = json.loads(path.read_text())
        if device in (None, limits["device"]):
            return limits
    limits = gpu_peers.device_limits(timeout)
    if limits:
        path.write_text(json.dumps(limits))
    return limits


class Row:
    """One batch in one precision. Its measurement can end at any time; `row` has the results so
    far.
    """

    def __init__(self, args, ashlar, folder, batch, precision, limits, what):
        self.args, self.ashlar, self.folder = args, ashlar, folder
        self.batch, self.precision, self.limits = batch, precision, limits
        # Recorded kernels are used again: all rows of a batch and a precision use the same kernels.
        self.tuned = any(row["tuned"] for row in rows_of(args.json, what, batch, precision))
        self.servers = []
        self.times, self.rounds = {}, []
        self.runs = max(10, 100 // batch)
        self.row = {"batch": batch, "precision": precision, "runs": self.runs, "left_out": {}, "memory": {}}

    def measure(self):
        import numpy

        args = self.args
        model = self.ashlar.model(self.folder, self.batch)
        source = self.folder / f"input-{self.batch}.npy"
        numpy.save(source, numpy.random.default_rng(0).standard_normal((self.batch, 3, 224, 224), dtype="float32"))
        # torch.compile chooses kernels by time: it comes first, before others use the device.
        peers = sorted(args.peers, key=lambda way: way not in SLOW)
        self.servers = [gpu_peers.Server(way, gpu_peers.peer_command(way, self.batch, self.precision),
                                         self.folder / f"{way}.err") for way in peers]
        options = ["--device", "gpu0:0", *OPTIONS[self.precision]]
        if args.tune and not self.tuned:  # while they import
            self.tune(model, options)
        self.row["tuned"] = self.tuned
        options += [] if self.tuned else ["--no-autotune"]
        # The memory of the chosen kernels.
        plan = self.ashlar.run("plan", model, *options, json_output=True)
        self.row["planned"] = {name: pool["planned_bytes"] for name, pool in plan["pools"].items()}
        words = [str(self.ashlar.build / "latency_server"), str(model), "1", str(source), str(self.folder / "out.npy"),
                 "gpu0:0", self.precision] + ["tuned"] * self.tuned
        for server in list(self.servers):
            self.prepare(server, 400 if server.name in SLOW else 240)
        ours = gpu_peers.Server("ashlar", words, self.folder / "ashlar.err", self.ashlar.environment, imports=False)
        self.servers.insert(0, ours)
        if not self.prepare(ours, 120):
            return
        self.compare(model, source)
        self.interleave()
        self.stop()
        if not set(args.peers) & set(SLOW):  # added to a row that already has it
            self.describe(model, options)

    def tune(self, model, options):
        """Times engines. If that fails, the row uses the kernels planned without a record."""
        seconds = self.args.tune_seconds
        try:
            # Preparing engines may take longer than timing them; half of the time is reserved for
            # the row.
            timeout = self.left(min(60 + 4 * seconds, (self.args.deadline - time.monotonic()) / 2))
            trials = self.ashlar.tune(model, *options, "--seconds", seconds, timeout=timeout)
            self.tuned = True
            if self.args.details:
                (self.args.details / f"trials-{self.precision}-{self.batch}.json").write_text(trials)
        except subprocess.SubprocessError as error:
            self.row["left_out"]["tune"] = reason_of(error)
            print(f"tune: {reason_of(error)}", file=sys.stderr, flush=True)

    def compare(self, model, source):
        """Compares the server's output with the CPU's `--exact`: the largest difference over the
        largest output.
        """
        import numpy

        reference = self.folder / f"reference-{self.batch}.npz"
        try:
            if not reference.exists():
                self.ashlar.run("run", model, "--input", f"data={source}", "--output", reference, "--exact", "--top", 0,
                                timeout=self.left(60))
            expected = next(iter(numpy.load(reference).values()))
            got = numpy.load(self.folder / "out.npy").reshape(expected.shape)
            error = float(abs(got - expected).max() / abs(expected).max())
        except (subprocess.SubprocessError, OSError, ValueError, StopIteration) as problem:
            reason = reason_of(problem) if isinstance(problem, subprocess.SubprocessError) else str(problem)
            self.row["left_out"]["comparison with the CPU"] = reason
            print(f"compare: {reason}", file=sys.stderr, flush=True)
            return
        self.row["error"] = error if math.isfinite(error) else None
        self.row["wrong"] = not error <= gpu_tables.TOLERANCE[self.precision]
        if self.row["wrong"]:
            print(f"wrong: the outputs differ from the CPU's by {error:.2g} of the largest; "
                  f"{gpu_tables.TOLERANCE[self.precision]:g} are allowed", file=sys.stderr, flush=True)

    def left(self, most):
        """Returns the seconds that a step may take, at most `most`."""
        return max(1, min(most, self.args.deadline - time.monotonic()))

    def prepare(self, server, seconds):
        ready = server.prepare(time.monotonic() + self.left(seconds))
        if ready:
            self.row["memory"][server.name] = server.memory
        else:
            self.drop(server)
        return ready

    def drop(self, server):
        self.row["left_out"][server.name] = server.failure
        self.servers.remove(server)

    def interleave(self):
        for number in range(self.args.rounds + 1):
            if len(self.rounds) >= 3 and self.left(10) < 10:
                break
            turn = number % len(self.servers)
            medians = {}
            for server in self.servers[turn:] + self.servers[:turn]:
                burst = server.burst(self.runs, time.monotonic() + 60)
                if burst is None:
                    self.drop(server)
                    if server.name == "ashlar":
                        return
                    continue
                medians[server.name] = statistics.median(burst)
                if number > 0:
                    self.times.setdefault(server.name, []).extend(burst)
            if number > 0:
                self.rounds.append(medians)

    def describe(self, model, options):
        """Adds the results of `verify` on the device, and the speed of each kind of operator."""
        try:
            verified = self.ashlar.run("verify", model, *options, "--no-values", json_output=True, timeout=self.left(60))
            self.row["verify"] = {"ok": verified["ok"], **verified.get("device_memory", {})}
            if "flops" in self.limits:
                profile = self.ashlar.run("profile", model, *options, "--by", "op", "--top", 0, "--warmup", 10,
                                          json_output=True, timeout=self.left(60))
                flops, transferred = self.limits["flops"][self.precision], self.limits["bytes"]
                self.row["limits"] = {"flops": flops, "bytes": transferred}
                self.row["kinds"] = shares(profile["rows"], flops, transferred)
        except subprocess.SubprocessError as error:
            self.row["left_out"]["verify, profile"] = reason_of(error)
            print(reason_of(error), file=sys.stderr, flush=True)

    def stop(self):
        for server in self.servers:
            server.stop()

    def result(self):
        """Returns None if no round was finished."""
        if not any("ashlar" in medians for medians in self.rounds):
            return None
        self.row["rounds"] = len(self.rounds)
        self.row["ms"] = {name: statistics.median(values) for name, values in self.times.items()}
        ratios = {}
        for name in self.row["ms"]:
            if name == "ashlar":
                continue
            both = [r[name] / r["ashlar"] for r in self.rounds if name in r and "ashlar" in r]
            if both:
                ratios[name] = {"median": statistics.median(both), "least": min(both), "most": max(both)}
        self.row["over_ashlar"] = ratios
        return self.row


def add_line(path, row):
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")
        file.flush()
        os.fsync(file.fileno())


class Ended(Exception):
    """Handles a signal to end."""


def end(number, _):
    raise Ended(signal.Signals(number).name)


def command_of(args):
    """Returns the arguments, without this machine's paths."""
    words = ["versus_gpu_frameworks.py", "--batch", *map(str, args.batch), "--precision", *args.precision,
             "--rounds", str(args.rounds)] + ["--tune", "--tune-seconds", f"{args.tune_seconds:g}"] * args.tune
    return " ".join(words + ["--peers", *args.peers])


def measure_all(args, ashlar, folder):
    """Measures the rows that the file lacks; returns the number of rows that failed, were wrong or
    had no time.
    """
    limits = limits_of(folder, min(120, max(1, args.deadline - time.monotonic())))
    what = versions(ashlar, limits, args.commit)
    longest, missing = args.row_seconds or (150 if set(args.peers) & set(SLOW) else 40), 0
    for precision in args.precision:
        for batch in args.batch:
            name = f"batch {batch} in {precision}"
            if any(row["complete"] and set(args.peers) <= set(row["ms"])
                   for row in rows_of(args.json, what, batch, precision)):
                print(f"{name}: measured before", file=sys.stderr, flush=True)
                continue
            begun = time.monotonic()
            if args.deadline - begun < longest:
                print(f"{name}: no time left", file=sys.stderr, flush=True)
                missing += 1
                continue
            row = Row(args, ashlar, folder, batch, precision, limits, what)
            complete = False
            try:
                row.measure()
                complete = len(row.rounds) == args.rounds and not row.row.get("wrong")
            except subprocess.SubprocessError as error:
                print(f"{name}: {reason_of(error)}", file=sys.stderr, flush=True)
            finally:  # also when told to end
                row.stop()
                result = row.result()
                if result:
                    result |= {"complete": complete, "seconds": round(time.monotonic() - begun, 1), **what,
                               "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
                               "command": command_of(args)}
                    print(json.dumps(result), flush=True)
                    if args.json:
                        add_line(args.json, result)
                ended = "wrong" if row.row.get("wrong") else "cut short" if result else "FAILED"
                print(f"{name}: {'measured' if complete else ended}, "
                      f"{time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
            missing += not complete
            longest = max(longest, time.monotonic() - begun)
    return missing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 10, 64])
    parser.add_argument("--precision", nargs="+", default=["fp32", "tf32", "fp16"], choices=list(OPTIONS))
    parser.add_argument("--peers", nargs="*", default=["eager", "graph", "folded", "compile", "jax"],
                        choices=list(gpu_tables.PEERS))
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--tune", action="store_true", help="`ashlar tune` first")
    parser.add_argument("--tune-seconds", type=float, default=15)
    parser.add_argument("--libraries", help="LD_LIBRARY_PATH of Ashlar's programs")
    parser.add_argument("--commit", default="unknown", help="of Ashlar, for the rows")
    parser.add_argument("--folder", type=pathlib.Path, help="for models and inputs, to be used again")
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds in all")
    parser.add_argument("--row-seconds", type=float, default=0,
                        help="a row is begun if so many are left (default 40, with torch.compile 150), later the longest row's")
    parser.add_argument("--details", type=pathlib.Path, help="a folder for what `ashlar tune` timed, a file a row")
    parser.add_argument("--json", type=pathlib.Path,
                        help="add each row to a file, a line each; what is complete there is not measured again")
    parser.add_argument("--table", type=pathlib.Path, help="print the rows of a file as Markdown, and end")
    parser.add_argument("--planned", action="store_true", help="print planned memory as Markdown, and end")
    args = parser.parse_args()
    if args.table:
        print(gpu_tables.speed(gpu_tables.read_rows(args.table)))
        return 0
    args.deadline = time.monotonic() + args.limit
    ashlar = Ashlar(args.build, args.libraries)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or pathlib.Path(temporary)
        if args.planned:
            print(gpu_tables.planned(ashlar, folder, args.batch, args.precision))
            return 0
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, end)
        try:
            missing = measure_all(args, ashlar, folder)
        except Ended as signal_name:
            print(f"ended by {signal_name}", file=sys.stderr)
            return 143
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
