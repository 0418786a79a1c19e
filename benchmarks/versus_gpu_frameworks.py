#!/usr/bin/env python3
"""ResNet-50 on one GPU: Ashlar beside PyTorch (eager, CUDA graph, torch.compile) and JAX, interleaved.

    benchmarks/versus_gpu_frameworks.py --build build/release [--batch 1 10 64] [--precision fp32 tf32 fp16]

Each system is a long-lived process with its tensors on the GPU. In every round each gets a burst of runs,
in rotating order, and synchronises after each run; the first round is dropped. All have the same layers
(the stride in the 3x3 convolutions) and channels last; weights are random, so only Ashlar's own output is
checked, against its CPU. Reported: medians over all runs, and the median of the per-round ratios to the
fastest other.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TORCH_SERVER = """
import sys, time, torch, torchvision
way, batch, precision = sys.argv[1], int(sys.argv[2]), sys.argv[3]
tf32 = precision == "tf32"
torch.backends.cudnn.allow_tf32 = tf32
torch.backends.cuda.matmul.allow_tf32 = tf32
torch.backends.cudnn.benchmark = True
dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
torch.manual_seed(0)
model = torchvision.models.resnet50().eval().cuda().to(dtype).to(memory_format=torch.channels_last)
image = torch.randn(batch, 3, 224, 224, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
with torch.inference_mode():
    call = model
    if way == "compile":
        call = torch.compile(model, mode="max-autotune")
    for _ in range(3):
        call(image)
    torch.cuda.synchronize()
    if way == "graph":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(image)
        call = lambda _: graph.replay()
    for _ in range(3):
        call(image)
    torch.cuda.synchronize()
    print("ready", torch.cuda.max_memory_allocated(), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            call(image)
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) * 1e3)
        print(" ".join(f"{t:.4f}" for t in times), flush=True)
"""

JAX_SERVER = """
import sys, time, jax, jax.numpy as jnp
from jax import lax
batch, precision = int(sys.argv[1]), sys.argv[2]
dtype = {"fp16": jnp.float16, "bf16": jnp.bfloat16}.get(precision, jnp.float32)
exact = lax.Precision.HIGHEST if precision == "fp32" else lax.Precision.DEFAULT
keys = iter(jax.random.split(jax.random.PRNGKey(0), 200))

def weights(height, width, inputs, outputs):
    scale = (2.0 / (height * width * inputs)) ** 0.5
    return (jax.random.normal(next(keys), (height, width, inputs, outputs)) * scale).astype(dtype)

def layer(size, inputs, outputs):
    return weights(size, size, inputs, outputs), jnp.ones(outputs, dtype), jnp.zeros(outputs, dtype)

def apply(x, parameters, stride, padding):
    filters, scale, shift = parameters
    y = lax.conv_general_dilated(x, filters, (stride, stride), [(padding, padding)] * 2,
                                 dimension_numbers=("NHWC", "HWIO", "NHWC"), precision=exact)
    return y * scale + shift

blocks, inputs = [], 64
for stage, (count, width) in enumerate([(3, 64), (4, 128), (6, 256), (3, 512)]):
    for i in range(count):
        block = {"a": layer(1, inputs, width), "b": layer(3, width, width), "c": layer(1, width, 4 * width)}
        if i == 0:
            block["d"] = layer(1, inputs, 4 * width)
        blocks.append((block, 2 if i == 0 and stage > 0 else 1))
        inputs = 4 * width
parameters = {"stem": layer(7, 3, 64), "blocks": [b for b, _ in blocks],
              "fc": weights(1, 1, 2048, 1000)[0, 0]}
strides = [s for _, s in blocks]

@jax.jit
def model(p, x):
    x = jax.nn.relu(apply(x, p["stem"], 2, 3))
    x = lax.reduce_window(x, jnp.array(-jnp.inf, x.dtype), lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                          ((0, 0), (1, 1), (1, 1), (0, 0)))
    for block, stride in zip(p["blocks"], strides):
        y = jax.nn.relu(apply(x, block["a"], 1, 0))
        y = jax.nn.relu(apply(y, block["b"], stride, 1))
        y = apply(y, block["c"], 1, 0)
        x = jax.nn.relu(y + (apply(x, block["d"], stride, 0) if "d" in block else x))
    x = jnp.mean(x, (1, 2), dtype=jnp.float32).astype(x.dtype)
    return jax.nn.softmax(jnp.matmul(x, p["fc"], precision=exact).astype(jnp.float32))

image = jax.random.normal(jax.random.PRNGKey(1), (batch, 224, 224, 3)).astype(dtype)
for _ in range(3):
    model(parameters, image).block_until_ready()
print("ready", jax.devices()[0].memory_stats()["peak_bytes_in_use"], flush=True)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        start = time.perf_counter()
        model(parameters, image).block_until_ready()
        times.append((time.perf_counter() - start) * 1e3)
    print(" ".join(f"{t:.4f}" for t in times), flush=True)
"""

# What the device reaches: operations per second of a large product, bytes per second of a large copy.
LIMITS = """
import sys, torch
precision = sys.argv[1]
torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)

def seconds(call, runs=10):
    for _ in range(3):
        call()
    times = []
    for _ in range(runs):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return sorted(times)[runs // 2]

size = 8192
a, b = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(2))
print(2 * size ** 3 / seconds(lambda: torch.matmul(a, b)))
source = torch.randn(1 << 30, device="cuda")
target = torch.empty_like(source)
print(2 * source.nbytes / seconds(lambda: target.copy_(source)))
"""


def limits_of(precision):
    """None where PyTorch is not there."""
    probe = subprocess.run([sys.executable, "-c", LIMITS, precision], capture_output=True, text=True)
    return [float(line) for line in probe.stdout.split()] if probe.returncode == 0 else None


def shares(rows, limits):
    """By operator kind: milliseconds, and the share of the nearer limit that they would take at it."""
    kinds = {}
    for row in rows:
        floor = max(row["computation"] / limits[0], row["memory"] / limits[1]) * 1e3
        kinds[row["type"]] = {"ms": row["ms"], "share": floor / row["ms"] if row["ms"] > 0 else None}
    return kinds


class Server:
    """Starts at once; wait() returns when it is ready or has failed."""

    def __init__(self, name, command, environment=None):
        self.name = name
        environment = dict(environment or os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)
        self.ready = False
        self.peak_bytes = None

    def wait(self):
        words = self.process.stdout.readline().split()
        self.ready = bool(words) and words[0] == "ready"
        self.peak_bytes = int(words[1]) if len(words) > 1 else None
        return self.ready

    def burst(self, runs):
        self.process.stdin.write(f"{runs}\n")
        self.process.stdin.flush()
        return [float(t) for t in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()

    def kill(self):
        self.process.kill()
        self.process.wait()


def measure(args, folder, batch, precision, limits):
    import numpy

    ashlar = str(args.build / "ashlar")
    environment = dict(os.environ)
    if args.libraries:
        environment["LD_LIBRARY_PATH"] = args.libraries
    model, source = folder / f"{batch}.ash", folder / f"input-{batch}.npy"
    if not model.exists():
        subprocess.run([ashlar, "zoo", "resnet50", "--batch", str(batch), "-o", str(model)], check=True,
                       stdout=subprocess.DEVNULL, env=environment)
    numpy.save(source, numpy.random.default_rng(0).standard_normal((batch, 3, 224, 224), dtype="float32"))
    ours = [str(args.build / "latency_server"), str(model), "1", str(source), str(folder / "out.npy"), "gpu0:0",
            precision] + (["tuned"] if args.tune else [])
    options = {"fp16": ["--precision", "fp16"], "bf16": ["--precision", "bf16"],
               "tf32": ["--allow-tf32"]}.get(precision, [])
    plan = json.loads(subprocess.run([ashlar, "plan", str(model), "--device", "gpu0:0", "--json", "--quiet"]
                                     + options, check=True, capture_output=True, text=True,
                                     env=environment).stdout)
    if args.tune:
        subprocess.run([ashlar, "tune", str(model), "--device", "gpu0:0", "--seconds", "20"] + options, check=True,
                       stdout=subprocess.DEVNULL, env=environment)
    commands = {"ashlar": ours}
    for way in args.peers:
        if way == "jax":
            commands[way] = [sys.executable, "-c", JAX_SERVER, str(batch), precision]
        else:
            commands[way] = [sys.executable, "-c", TORCH_SERVER, way, str(batch), precision]
    # torch.compile chooses kernels by time: the others start while nobody measures.
    servers = []
    for name in sorted(commands, key=lambda name: name != "compile"):
        server = Server(name, commands[name], environment if name == "ashlar" else None)
        if server.wait():
            servers.append(server)
        elif name == "ashlar":
            for other in servers:
                other.kill()
            sys.exit("ashlar did not start")
        else:
            print(f"{name} did not start; left out", file=sys.stderr)
    runs = max(5, 100 // batch)
    times = {server.name: [] for server in servers}
    rounds = []
    for number in range(args.rounds + 1):
        turn = number % len(servers)
        medians = {}
        for server in servers[turn:] + servers[:turn]:
            burst = server.burst(runs)
            medians[server.name] = statistics.median(burst)
            if number > 0:
                times[server.name] += burst
        if number > 0:
            rounds.append(medians)
    row = {"batch": batch, "precision": precision, "rounds": args.rounds, "runs": runs,
           "ms": {name: statistics.median(values) for name, values in times.items()},
           "peak_bytes": {s.name: s.peak_bytes for s in servers if s.peak_bytes is not None},
           "ashlar_planned_bytes": sum(pool["planned_bytes"] for pool in plan["pools"].values())}
    if limits:
        profile = json.loads(subprocess.run(
            [ashlar, "profile", str(model), "--device", "gpu0:0", "--by", "op", "--json", "--quiet"] + options,
            check=True, capture_output=True, text=True, env=environment).stdout)
        row["limits"] = {"flops": limits[0], "bytes": limits[1]}
        row["kinds"] = shares(profile["rows"], limits)
    others = [name for name in times if name != "ashlar"]
    if others:
        best = min(others, key=lambda name: row["ms"][name])
        row["best_other"] = best
        row["speedup_over_best"] = statistics.median(r[best] / r["ashlar"] for r in rounds)
        if "eager" in times:
            row["speedup_over_eager"] = statistics.median(r["eager"] / r["ashlar"] for r in rounds)
    for server in servers:
        server.close()
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 10, 64])
    parser.add_argument("--precision", nargs="+", default=["fp32", "tf32", "fp16"])
    parser.add_argument("--peers", nargs="*", default=["eager", "graph", "compile", "jax"])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--tune", action="store_true", help="`ashlar tune` first")
    parser.add_argument("--libraries", help="LD_LIBRARY_PATH of Ashlar's programs")
    parser.add_argument("--folder", type=pathlib.Path, help="for models and inputs, to be used again")
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds after which no row is begun")
    parser.add_argument("--json", type=pathlib.Path, help="add each row to a file, a line each")
    args = parser.parse_args()
    start = time.monotonic()
    longest = 0  # seconds of a row
    with tempfile.TemporaryDirectory() as temporary:
        for precision in args.precision:
            limits = limits_of(precision)
            for batch in args.batch:
                begun = time.monotonic()
                if begun - start + longest > args.limit:
                    print(f"no time left for batch {batch} in {precision}", file=sys.stderr)
                    continue
                row = measure(args, args.folder or pathlib.Path(temporary), batch, precision, limits)
                longest = max(longest, time.monotonic() - begun)
                print(json.dumps(row), flush=True)
                if args.json:
                    with args.json.open("a") as file:
                        file.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
