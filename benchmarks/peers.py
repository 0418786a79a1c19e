"""What the side-by-side scripts share: models as files, and the systems as processes that wait for work."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
ZOO = ["resnet50", "vgg19", "mobilenet_v2", "inception_v1", "squeezenet"]

# After `run` is defined: three warm-up runs, the output to a file, then a burst of runs for each line.
SERVE = """
for _ in range(3):
    result = run()
numpy.save(target, result)
print("ready", flush=True)
for line in sys.stdin:
    times = []
    for _ in range(int(line)):
        start = time.perf_counter()
        run()
        times.append((time.perf_counter() - start) * 1e3)
    print(" ".join(f"{t:.4f}" for t in times), flush=True)
"""

ONNXRUNTIME = """
import sys, time, numpy, onnxruntime
model, threads, source, target = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(threads)
options.inter_op_num_threads = 1
session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
feed = {session.get_inputs()[0].name: numpy.load(source)}
run = lambda: session.run(None, feed)[0]
""" + SERVE

OPENVINO = """
import sys, time, numpy, openvino
model, threads, source, target = sys.argv[1:]
compiled = openvino.Core().compile_model(model, "CPU", {
    "INFERENCE_NUM_THREADS": int(threads), "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"})
request = compiled.create_infer_request()
feed = [numpy.load(source)]
run = lambda: request.infer(feed, share_inputs=True, share_outputs=True)[0]
""" + SERVE


class Server:
    """One system, loaded and warm."""

    def __init__(self, name, command, cores):
        self.name = name
        self.process = subprocess.Popen(
            ["taskset", "-c", cores] + command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.strip() == "ready":
                return
        sys.exit(f"{name} did not start")

    def burst(self, runs):
        """Milliseconds of each of `runs` runs."""
        self.process.stdin.write(f"{runs}\n")
        self.process.stdin.flush()
        return [float(t) for t in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def start(system, files, threads, source, target, ashlar_options=()):
    """A Server for "ashlar", "onnxruntime" or "openvino"; `files` as make_model returned them."""
    cores = ",".join(str(core) for core in range(threads))
    arguments = [str(threads), str(source), str(target)]
    if system == "ashlar":
        command = [str(BUILD / "latency_server"), str(files[0]), *arguments, *ashlar_options]
    else:
        code = {"onnxruntime": ONNXRUNTIME, "openvino": OPENVINO}[system]
        command = [sys.executable, "-c", code, str(files[1]), *arguments]
    return Server(system, command, cores)


def ashlar(*arguments):
    subprocess.run([str(BUILD / "ashlar"), *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def make_model(folder, name, batch):
    """The same weights as a .ash and a .onnx file."""
    ash, onnx = folder / f"{name}-{batch}.ash", folder / f"{name}-{batch}.onnx"
    if not onnx.exists():
        ashlar("zoo", name, "--batch", batch, "-o", ash)
        ashlar("convert", ash, "-o", onnx)
    return ash, onnx


def make_input(folder, batch):
    import numpy

    path = folder / f"input-{batch}.npy"
    if not path.exists():
        random = numpy.random.default_rng(0)
        numpy.save(path, random.standard_normal((batch, 3, 224, 224), dtype="float32"))
    return path


def busy_ticks():
    """Processor time that the whole machine has spent."""
    fields = [int(x) for x in open("/proc/stat").readline().split()[1:]]
    return sum(fields) - fields[3] - fields[4]


def ticks_of(processes):
    total = 0
    for process in processes:
        fields = open(f"/proc/{process.pid}/stat").read().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total


def machine():
    model = next(line for line in open("/proc/cpuinfo") if line.startswith("model name"))
    return f"{model.split(':')[1].strip()}, {os.cpu_count()} cores"
