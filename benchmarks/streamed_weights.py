#!/usr/bin/env python3
"""Measures models whose weights do not fit: streamed through a planned window, in a memory control
group of the planned total; beside mapped weights, and ONNX Runtime, in the same group.

    pip install -r benchmarks/requirements.txt
    cmake --build --preset release --target ashlar ashlar_shared
    benchmarks/streamed_weights.py [--models resnet50 vgg19 vit_b_16] [--runs 9]
                                   [--library build/release] [--folder models]
                                   [--vit vit_b_16.ts.onnx]

Needs root, to make control groups. The program is examples/c/streamed. ViT-B/16 is an export whose
weights are seeded.
- resident: how much the memory of the process that is no file grew from before the session to after the
  runs (/proc/self/smaps_rollup), beside the planned bytes of arena, window and tensors.
- peak: the most that the group was charged, with code, loading and planning. Code and libraries have
  left the system's cache before (--code cached: they stay there), so the group is charged for them.
- warm: the system has cached the file, before and outside of the group. The file is packed for this
  (--weights-speed), and so is the plan.
- cold: it has not. The disk's bandwidth is measured by reading the same file, and the bound is the
  bytes that a run reads over that bandwidth.
- mapped: the packed weights are used where they lie in the mapped file; the system reads pages as
  they are touched, and drops others (as llama.cpp uses its files).
A process that the kernel ends for its memory is "killed"; one that takes longer than --patience
seconds for a run is "more than" that.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python" / "tests")]
from memory_group import MemoryGroup  # noqa: E402

MIB = 1 << 20
# By model: the total of the control group; the tiles (empty: none) and the budget of the weights.
CASES = {"resnet50": (16, "", "4MiB"), "vgg19": (32, "0-50:rolling28", "8MiB"), "vit_b_16": (24, "", "4MiB")}
CACHED = "20GB"  # bytes a second of files that the system has cached


def ashlar(args, *words):
    return subprocess.run([str(args.library / "ashlar"), *map(str, words)], check=True, capture_output=True, text=True).stdout


def make_model(args, folder, name):
    """Returns the model as .ash, and as .onnx."""
    ash, onnx_file = folder / f"{name}.ash", folder / f"{name}.onnx"
    if name == "vit_b_16" and not onnx_file.exists():
        import numpy
        import onnx
        from compare_onnxruntime import seed_weights
        model = onnx.load(args.vit)
        seed_weights(model, numpy.random.default_rng(0))
        onnx.save(model, onnx_file)
    if not ash.exists():
        ashlar(args, *(["convert", onnx_file] if name == "vit_b_16" else ["zoo", name]), "-o", ash)
    if not onnx_file.exists():
        ashlar(args, "convert", ash, "-o", onnx_file)
    return ash, onnx_file


def drop_pages(path):
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def libraries(binary):
    """Returns the files of a program's code."""
    listed = subprocess.run(["ldd", binary], check=True, capture_output=True, text=True).stdout
    return [binary, *re.findall(r"(/\S+) \(", listed)]


def read_all(path):
    """Returns the bytes a second of reading a file."""
    start, size = time.monotonic(), 0
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(MIB):
            size += len(piece)
    return size / (time.monotonic() - start)


def program(args, folder):
    """Builds the example."""
    binary = folder / "streamed"
    links = ["-L", args.library, "-lashlar", f"-Wl,-rpath,{args.library.resolve()}"]
    subprocess.run(["cc", "-O2", ROOT / "examples/c/streamed/streamed.c", "-I", ROOT / "library/include", *links, "-o", binary],
                   check=True)
    return binary


def in_group(args, limit, command):
    """Runs a command in a group of `limit` bytes. Returns its output (None: ended by the kernel, or by
    its user's patience, and then why), and the group's peak.
    """
    with MemoryGroup() as group:
        group.limit(limit)
        shell = f"{group.shell()}; exec \"$@\""
        process = subprocess.Popen(["sh", "-c", shell, "sh", *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        try:
            output, errors = process.communicate(timeout=args.patience * args.runs)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None, f"more than {args.patience:.0f} s", group.peak()
        if process.returncode == 0:
            return output, "", group.peak()
        return None, "killed" if process.returncode in (-9, 137) else errors.strip().splitlines()[-1][:120], group.peak()


def times(output):
    return [float(ms) for ms in re.findall(r"^run \d+: ([\d.]+) ms$", output, re.M)]


def median(output, reason):
    """Returns the median of all runs but the first."""
    if output is None:
        return reason
    return f"{statistics.median(times(output)[1:] or times(output)):.1f} ms"


ORT = """
import sys, time, numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
options.enable_cpu_mem_arena = False
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
x = session.get_inputs()[0]
feed = {x.name: numpy.ones([d if isinstance(d, int) else 1 for d in x.shape], numpy.float32)}
for run in range(int(sys.argv[2])):
    start = time.monotonic()
    session.run(None, feed)
    print(f"run {run}: {1e3 * (time.monotonic() - start):.2f} ms", flush=True)
"""


def measure(args, folder, name):
    mib, spec, window = CASES[name]
    limit = mib * MIB
    ash, onnx_file = make_model(args, folder, name)
    binary = program(args, folder)
    packed, resident = folder / f"{name}.{window}.ash", folder / f"{name}.packed.ash"
    cached = folder / f"{name}.{window}.{CACHED}.ash"
    tiles = ["--tile", spec] if spec else []
    if not packed.exists():
        ashlar(args, "convert", ash, "-o", packed, "--pack", "--weights-budget", window, *tiles)
    if not cached.exists():
        ashlar(args, "convert", ash, "-o", cached, "--pack", "--weights-budget", window, "--weights-speed", CACHED, *tiles)
    if not resident.exists():
        ashlar(args, "convert", ash, "-o", resident, "--pack")
    options = f"weights-budget={window}"
    plan = json.loads(ashlar(args, "plan", packed, "--weights-budget", window, "--threads", 1, "--json"))
    verify = subprocess.run([str(args.library / "ashlar"), "verify", str(packed), "--weights-budget", window, "--threads", "1"],
                            capture_output=True, text=True)
    read = plan["weights_window"]["read_bytes"]
    run = [binary, packed, options, args.runs]
    outputs = folder / "streamed.out", folder / "resident.out"

    def code():
        for path in libraries(binary) if args.code == "dropped" else []:
            drop_pages(path)

    read_all(resident)
    all_resident, all_warm, warm_over_resident, ended = "", "", [], []
    for _ in range(args.rounds):
        one = subprocess.run([str(binary), str(resident), "", str(args.runs), str(outputs[1])], check=True, capture_output=True,
                             text=True).stdout
        all_resident += one
        read_all(cached)
        code()
        warm, why_warm, peak = in_group(args, limit, [binary, cached, f"{options} weights-speed={CACHED}", args.runs, outputs[0]])
        if warm is None:
            ended.append(why_warm)
        else:
            all_warm += warm
            warm_over_resident.append(statistics.median(times(warm)[1:]) / statistics.median(times(one)[1:]))
    drop_pages(packed)
    bandwidth = read_all(packed)
    drop_pages(packed)
    code()
    cold, why_cold, _ = in_group(args, limit, run)
    drop_pages(resident)
    mapped, why_mapped, _ = in_group(args, limit, [binary, resident, "", args.runs])
    theirs, why_theirs, _ = in_group(args, limit, [args.python, "-c", ORT, onnx_file, args.runs])
    equal = "-" if warm is None else difference(*outputs)
    process = re.search(r"(\d+) kB are no files", warm or "")
    arena, window_bytes, tensors = map(int, re.search(r"arena (\d+), weights (\d+), tensors (\d+)", warm or all_resident).groups())
    resident_bytes = re.search(r"resident: (\d+) bytes for (\d+) planned", warm or "")
    parts = plan["total"]["parts"]
    total = arena + window_bytes + tensors + parts["process_bytes"]
    ratios = ", ".join([*(f"{ratio:.2f}" for ratio in sorted(warm_over_resident)), *ended])
    grown = "-" if resident_bytes is None else f"{int(resident_bytes.group(1)):,} of {int(resident_bytes.group(2)):,}"
    anonymous = "-" if process is None else f"{int(process.group(1)) / 1024:.2f}"
    print(f"| {name} | {mib} | {arena / MIB:.2f} | {window_bytes / MIB:.2f} | {tensors / MIB:.2f} | {grown} | {total / MIB:.2f} "
          f"| {anonymous} | {peak / MIB:.2f} | {read / MIB:.1f} | {equal} "
          f"| {'yes' if verify.returncode == 0 else verify.stderr.strip()[-80:]} |", flush=True)
    return (f"| {name} | {median(all_resident, '')} | {median(all_warm or None, why_warm)} | {ratios} | {median(cold, why_cold)} "
            f"| {1e3 * read / bandwidth:.0f} ms at {bandwidth / MIB:.0f} MiB/s | {median(mapped, why_mapped)} "
            f"| {median(theirs, why_theirs)} |")


def difference(a, b):
    """Returns the largest difference of two files of floats, over the largest value."""
    import array
    x, y = array.array("f", a.read_bytes()), array.array("f", b.read_bytes())
    largest = max(map(abs, y)) or 1
    return f"{max(abs(p - q) for p, q in zip(x, y, strict=True)) / largest:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--models", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--rounds", type=int, default=3, help="in which all in memory and warm take turns")
    parser.add_argument("--patience", type=float, default=20, help="seconds of a run")
    parser.add_argument("--code", choices=("dropped", "cached"), default="dropped", help="of the program, before it runs in the group")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that has onnxruntime")
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--folder", type=pathlib.Path, help="where models are kept (default: nowhere); on the disk that is measured")
    parser.add_argument("--vit", type=pathlib.Path, default=ROOT.parent / "shared/data/onnx/exports/vit_b_16.ts.onnx")
    args = parser.parse_args()
    print(f"one thread, load {os.getloadavg()[0]:.1f}\n\n"
          "| model | group, MiB | arena | window | tensors | resident, bytes of planned | planned with the process, MiB | no files "
          "| peak of the group | read by a run | outputs differ | verified |\n" + "|---" * 12 + "|")
    with tempfile.TemporaryDirectory() as temporary:
        rows = [measure(args, args.folder or pathlib.Path(temporary), name) for name in args.models]
    print("\n| model | all in memory | warm | over all in memory, by round | cold | bound of the disk | mapped, cold | ONNX Runtime |\n"
          + "|---" * 8 + "|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
