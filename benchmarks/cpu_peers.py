"""Shared code of the scripts for the CPU: arguments, models as files, and the systems as processes
that run on request.
"""
import argparse
import contextlib
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
PEERS = ROOT / "benchmarks" / "peers"
# In peers/. OpenVINO computes in f32 or bf16, or as it decides by itself: bf16 on processors with
# AMX. The others: see converted.py.
PROGRAMS = {"onnxruntime": ["onnx_runtime.py", "bursts"], "openvino": ["open_vino.py", "f32"],
            "openvino_bf16": ["open_vino.py", "bf16"], "openvino_default": ["open_vino.py", "default"]}
PROGRAMS |= {way: ["converted.py", way]
             for way in ("mnn", "mnn_f32", "ncnn", "ncnn_f32", "litert", "torch_compile")}
PAUSE = 0.1  # seconds
ZOO = ["resnet50", "vgg19", "mobilenet_v2", "inception_v1", "squeezenet"]


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number}: at least one")
    return number


def argument_parser(description, batch, threads, rounds, program):
    """Parses the arguments, including the ones common to all scripts.

    batch, threads: defaults, as lists if several are measured. program: Ashlar's program, which
    takes further words.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", nargs="+", default=["resnet50"], help="of the zoo, or all")
    for name, default in (("--batch", batch), ("--threads", threads)):
        parser.add_argument(name, type=int, nargs="+" if isinstance(default, list) else None, default=default)
    parser.add_argument("--image", type=positive, default=224, help="height and width (default 224)")
    parser.add_argument("--rounds", type=positive, default=rounds, help="that count, besides the first")
    parser.add_argument("--ashlar-options", nargs="*", default=[], help=f"further words for {program}")
    parser.add_argument("--folder", type=pathlib.Path, help="where models are kept (default: nowhere)")
    parser.add_argument("--json", type=pathlib.Path, help="append the rows to a file, one a line")
    return parser


def models(args):
    return ZOO if args.models == ["all"] else args.models


@contextlib.contextmanager
def model_folder(args):
    with tempfile.TemporaryDirectory() as temporary:
        yield args.folder or pathlib.Path(temporary)


def keep_row(args, row):
    if args.json:
        with args.json.open("a") as file:
            file.write(json.dumps(row) + "\n")


def measure_all(args, heading, compare, print_row):
    """Prints and saves a Markdown table.

    Each row is compare(args, folder, model, batch, threads), and is written as soon as it is
    measured.
    """
    columns = heading.count("|") - 1
    print(f"{machine()}\n\n{heading}\n|" + "---|" * columns)
    with model_folder(args) as folder:
        for model, batch, threads in itertools.product(models(args), args.batch, args.threads):
            row = compare(args, folder, model, batch, threads)
            print_row(row)
            keep_row(args, row)


class Server:
    """A system in a process of its own, loaded and warmed up."""

    def __init__(self, name, command, cores):
        self.name = name
        self.process = subprocess.Popen(
            ["taskset", "-c", cores] + command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.strip() == "ready":
                return
        sys.exit(f"{name} did not start")

    def burst(self, runs):
        """Returns the milliseconds of each of `runs` runs, after the threads of the previous system
        have stopped spinning.
        """
        time.sleep(PAUSE)
        self.process.stdin.write(f"{runs}\n")
        self.process.stdin.flush()
        return [float(t) for t in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def python(peer, *arguments):
    """Returns the command of a program in peers/."""
    return [sys.executable, str(PEERS / peer), *map(str, arguments)]


def start(system, files, threads, source, target, ashlar_options=()):
    """Starts a Server for "ashlar", a name of PROGRAMS, or another build of Ashlar by its folder.

    `files` is a result of make_model.
    """
    cores = ",".join(str(core) for core in range(threads))
    arguments = [str(threads), str(source), str(target)]
    if system == "ashlar" or system not in PROGRAMS:
        build = BUILD if system == "ashlar" else pathlib.Path(system)
        command = [str(build / "latency_server"), str(files[0]), *arguments, *ashlar_options]
    else:
        command = python(*PROGRAMS[system], files[1], *arguments)
    return Server(system, command, cores)


def ashlar(*arguments):
    subprocess.run([str(BUILD / "ashlar"), *map(str, arguments)], check=True, stdout=subprocess.DEVNULL)


def make_model(folder, name, batch, image=224):
    """Writes the same weights as a .ash and a .onnx file."""
    ash, onnx = (folder / f"{name}-{batch}-{image}.{ending}" for ending in ("ash", "onnx"))
    if not onnx.exists():
        ashlar("zoo", name, "--batch", batch, "--image", image, "-o", ash)
        ashlar("convert", ash, "-o", onnx)
    return ash, onnx


def make_input(folder, batch, image=224):
    """Written by a separate process, because this process's resident memory would count for its
    children.
    """
    path = folder / f"input-{batch}-{image}.npy"
    if not path.exists():
        subprocess.run(python("random_input.py", path, batch, image), check=True)
    return path


def busy_ticks():
    """Returns the processor time spent by the whole machine."""
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
