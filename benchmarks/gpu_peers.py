"""What versus_gpu_frameworks.py runs beside Ashlar: PyTorch and JAX as processes that time when told to.

A process prints "imported", waits for a line, takes the GPU and warms up, and prints "ready" and its memory
as JSON. For each line with a number k it runs k times, with a synchronisation after each run, and prints the k
latencies in milliseconds on one line. So the imports of all may go on at once, and the warm-ups, in which the
frameworks choose kernels by time, one after the other.
"""
import json
import os
import select
import subprocess
import sys
import time

TORCH = """
import json, sys, time, torch, torchvision
way, batch, precision = sys.argv[1], int(sys.argv[2]), sys.argv[3]
print("imported", flush=True)
sys.stdin.readline()
tf32 = precision == "tf32"
torch.backends.cudnn.allow_tf32 = tf32
torch.backends.cuda.matmul.allow_tf32 = tf32
torch.backends.cudnn.benchmark = True
torch.backends.cudnn.benchmark_limit = 0  # all kernels that cuDNN proposes
dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
torch.manual_seed(0)
model = torchvision.models.resnet50().eval().cuda().to(dtype).to(memory_format=torch.channels_last)
image = torch.randn(batch, 3, 224, 224, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
compiled = way in ("compile", "freeze")
with (torch.no_grad() if compiled else torch.inference_mode()):
    call = model
    if way == "freeze":  # normalisation folded into the filters
        import torch._inductor.config
        torch._inductor.config.freezing = True
    if compiled:
        call = torch.compile(model, mode="max-autotune")
    for _ in range(5):
        call(image)
    torch.cuda.synchronize()
    # What the choice of kernels took is given back before memory is counted.
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    if way == "graph":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            model(image)
        call = lambda _: graph.replay()
    for _ in range(3):
        call(image)
    torch.cuda.synchronize()
    if compiled:
        peak, how = torch.cuda.memory_reserved(), "memory_reserved after empty_cache: replays hold a pool of their own"
    else:
        peak, how = torch.cuda.max_memory_allocated(), "max_memory_allocated after reset, in three runs"
        if way == "graph":
            how += " and the capture"
    print("ready", json.dumps({"peak_bytes": peak, "how": how,
                               "reserved_bytes": torch.cuda.max_memory_reserved()}), flush=True)
    for line in sys.stdin:
        times = []
        for _ in range(int(line)):
            start = time.perf_counter()
            call(image)
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) * 1e3)
        print(" ".join(f"{t:.4f}" for t in times), flush=True)
"""

JAX = """
import json, sys, time, jax, jax.numpy as jnp
from jax import lax
batch, precision = int(sys.argv[1]), sys.argv[2]
print("imported", flush=True)
sys.stdin.readline()
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
for _ in range(5):
    model(parameters, image).block_until_ready()
memory = {}
peak = (jax.devices()[0].memory_stats() or {}).get("peak_bytes_in_use")
if peak is not None:
    memory = {"peak_bytes": peak, "how": "peak_bytes_in_use of the process, with its choice of kernels: no reset"}
print("ready", json.dumps(memory), flush=True)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        start = time.perf_counter()
        model(parameters, image).block_until_ready()
        times.append((time.perf_counter() - start) * 1e3)
    print(" ".join(f"{t:.4f}" for t in times), flush=True)
"""

# What the device reaches: operations per second of a large product by precision, bytes per second of a
# large copy; and what it is.
LIMITS = """
import json, torch

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

flops, size = {}, 8192
for precision in ("fp32", "tf32", "fp16", "bf16"):
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
    a, b = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(2))
    flops[precision] = 2 * size ** 3 / seconds(lambda: torch.matmul(a, b))
source = torch.randn(1 << 30, device="cuda")
target = torch.empty_like(source)
print(json.dumps({"flops": flops, "bytes": 2 * source.nbytes / seconds(lambda: target.copy_(source)),
                  "device": torch.cuda.get_device_name(), "cuda": torch.version.cuda,
                  "cudnn": torch.backends.cudnn.version()}))
"""


def peer_command(way, batch, precision):
    if way == "jax":
        return [sys.executable, "-c", JAX, str(batch), precision]
    return [sys.executable, "-c", TORCH, way, str(batch), precision]


def device_limits():
    """Of the device, as LIMITS prints it; empty, with a word on stderr, where PyTorch does not run."""
    try:
        probe = subprocess.run([sys.executable, "-c", LIMITS], capture_output=True, text=True, timeout=120)
        if probe.returncode == 0:
            return json.loads(probe.stdout)
        reason = (probe.stderr.strip().splitlines() or ["no output"])[-1]
    except subprocess.TimeoutExpired:
        reason = "no answer in 120 s"
    print(f"no limits of the device, since PyTorch does not run: {reason}", file=sys.stderr, flush=True)
    return {}


def smi(field):
    """A field of the first GPU as nvidia-smi prints it; None where it does not answer."""
    try:
        answer = subprocess.run(["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits"],
                                capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.splitlines()[0].strip() if answer.returncode == 0 and answer.stdout else None


def used_bytes():
    """Of the device's memory, by all processes; None where nvidia-smi does not say."""
    text = smi("memory.used")
    return int(text) << 20 if text and text.isdigit() else None


class Server:
    """Starts at once. failure: why it is of no use, None as long as it is."""

    def __init__(self, name, command, errors, environment=None, imports=True):
        self.name = name
        self.imports = imports  # it has the first line, "imported"
        self.memory = {}
        self.failure = None
        self._errors = errors
        self._unread = b""
        self._before = None if imports else used_bytes()
        with errors.open("w") as stderr:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                env=dict(environment or os.environ, XLA_PYTHON_CLIENT_PREALLOCATE="false"))

    def prepare(self, deadline):
        """Waits until it is ready, or has failed."""
        if self.imports:
            if self._expect("imported", deadline) is None:
                return False
            self._before = used_bytes()
            self._write("\n")
        rest = self._expect("ready", deadline)
        if rest is None:
            return False
        self.memory = json.loads(rest) if rest else {}
        after = used_bytes()
        if self._before is not None and after is not None:
            self.memory["process_bytes"] = after - self._before
        return True

    def burst(self, runs, deadline):
        """Latencies in milliseconds; None if it has failed."""
        self._write(f"{runs}\n")
        while (line := self._line(deadline)) is not None:
            try:
                times = [float(word) for word in line.split()]
            except ValueError:
                continue  # a word of a library's
            if len(times) == runs:
                return times
        return None

    def stop(self):
        self._process.kill()
        self._process.wait()

    def _write(self, text):
        try:
            self._process.stdin.write(text.encode())
            self._process.stdin.flush()
        except OSError:
            pass  # the next line that is read says so

    def _expect(self, word, deadline):
        """What follows the word in the line that begins with it."""
        while (line := self._line(deadline)) is not None:
            if line.split(" ", 1)[0] == word:
                return line[len(word):].strip()
        return None

    def _line(self, deadline):
        descriptor = self._process.stdout.fileno()
        while b"\n" not in self._unread:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([descriptor], [], [], left)[0]:
                self._fail("no answer in time")
                return None
            more = os.read(descriptor, 1 << 16)
            if not more:
                self._fail(f"ended with {self._process.wait()}")
                return None
            self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode(errors="replace").strip()

    def _fail(self, reason):
        self.stop()
        lines = self._errors.read_text(errors="replace").strip().splitlines()
        self.failure = reason + (f": {lines[-1][:300]}" if lines else "")
        print(f"{self.name}: {reason}", *lines[-20:], sep="\n    ", file=sys.stderr, flush=True)
