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


class Server:
    def __init__(self, name, command):
        self.name = name
        environment = dict(os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        env=environment)
        words = self.process.stdout.readline().split()
        self.ready = bool(words) and words[0] == "ready"
        self.peak_bytes = int(words[1]) if len(words) > 1 else None

    def burst(self, runs):
        self.process.stdin.write(f"{runs}\n")
        self.process.stdin.flush()
        return [float(t) for t in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(args, folder, batch, precision):
    import numpy

    ashlar = str(args.build / "ashlar")
    model, source = folder / f"{batch}.ash", folder / f"input-{batch}.npy"
    if not model.exists():
        subprocess.run([ashlar, "zoo", "resnet50", "--batch", str(batch), "-o", str(model)], check=True,
                       stdout=subprocess.DEVNULL)
    numpy.save(source, numpy.random.default_rng(0).standard_normal((batch, 3, 224, 224), dtype="float32"))
    ours = [str(args.build / "latency_server"), str(model), "1", str(source), str(folder / "out.npy"), "gpu0:0",
            precision] + (["autotune"] if args.autotune else [])
    options = {"fp16": ["--precision", "fp16"], "bf16": ["--precision", "bf16"],
               "tf32": ["--allow-tf32"]}.get(precision, [])
    plan = json.loads(subprocess.run([ashlar, "plan", str(model), "--device", "gpu0:0", "--json", "--quiet"]
                                     + options, check=True, capture_output=True, text=True).stdout)
    commands = {"ashlar": ours}
    for way in args.peers:
        if way == "jax":
            commands[way] = [sys.executable, "-c", JAX_SERVER, str(batch), precision]
        else:
            commands[way] = [sys.executable, "-c", TORCH_SERVER, way, str(batch), precision]
    servers = []
    for name, command in commands.items():
        server = Server(name, command)
        if server.ready:
            servers.append(server)
        elif name == "ashlar":
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
    parser.add_argument("--autotune", action="store_true")
    parser.add_argument("--json", type=pathlib.Path, help="write the rows to a file, too")
    args = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for precision in args.precision:
            for batch in args.batch:
                row = measure(args, pathlib.Path(folder), batch, precision)
                rows.append(row)
                print(json.dumps(row), flush=True)
                if args.json:
                    args.json.write_text(json.dumps({"rows": rows}, indent=1))


if __name__ == "__main__":
    main()
