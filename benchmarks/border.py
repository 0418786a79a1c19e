#!/usr/bin/env python3
"""Measures the cost of calling the library: binding both tensors and running a model that does next
to nothing (y = relu(x), 16 floats).

Callers are C, C++ and Python, next to ONNX Runtime from C and Python and LiteRT (TensorFlow Lite)
from Python. Also measures the time from `import` to the first result of a packed ResNet-50, next to
ONNX Runtime's for the same model.

    pip install -r benchmarks/requirements.txt ai-edge-litert
    cmake --build --preset release --target ashlar ashlar_shared
    benchmarks/border.py [BUILD_FOLDER]

Python packages come from python/; a peer that is not installed is left out.
"""
import importlib.util
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
CALLS, ROUNDS = 100, 200  # rounds are short, so that the best one ran undisturbed
C_LOOP = r"""
#include <ashlar/ashlar.h%(pp)s>
#include <cstdio>
#include <ctime>
#include <dlfcn.h>
static double Now() { timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e6 + t.tv_nsec * 1e-3; }
int main(int, char** argv) {
  float x[16] = {}, y[16];
  %(setup)s
  for (int round = 0; round < %(rounds)d; ++round) {
    const double begin = Now();
    for (int i = 0; i < %(calls)d; ++i) { %(body)s }
    std::printf("%%f\n", (Now() - begin) / %(calls)d);
  }
}
"""
C_SETUP = """ashlar_model* model; ashlar_plan* plan; ashlar_session* session; ashlar_plan_options options = {};
  options.size = sizeof(options); options.threads = 1;
  if (ashlar_model_open(argv[1], &model) || ashlar_model_plan(model, &options, &plan) || ashlar_plan_session(plan, nullptr, &session))
    return 1;"""
C_BODY = """if (ashlar_bind_input(session, "x", x, 64, ASHLAR_HOST) || ashlar_bind_output(session, "y", y, 64, ASHLAR_HOST) ||
                 ashlar_run(session)) return 1;"""
CPP_SETUP = """auto options = ashlar::Sized<ashlar_plan_options>(); options.threads = 1;
  ashlar::Session session = ashlar::Model(argv[1]).NewPlan(options).NewSession();"""
# ONNX Runtime's functions by their index in its table, which is the same in all versions
# (onnxruntime_c_api.h).
ORT_SETUP = """const int64_t shape[] = {1, 16}; const char *input = "x", *output = "y";
  void *env, *options, *session, *place, *values[2];
  void* const library = dlopen(argv[2], RTLD_NOW);
  if (!library) return 1;
  struct Base { void** (*api)(uint32_t version); };
  void** const api = reinterpret_cast<const Base* (*)()>(dlsym(library, "OrtGetApiBase"))()->api(17);
  const auto create_env = reinterpret_cast<void* (*)(int, const char*, void**)>(api[3]);
  const auto create_session = reinterpret_cast<void* (*)(void*, const char*, void*, void**)>(api[7]);
  const auto run = reinterpret_cast<void* (*)(void*, void*, const char* const*, void* const*, size_t, const char* const*, size_t, void**)>(api[9]);
  const auto create_options = reinterpret_cast<void* (*)(void**)>(api[10]);
  const auto set_threads = reinterpret_cast<void* (*)(void*, int)>(api[24]);
  const auto create_tensor = reinterpret_cast<void* (*)(void*, void*, size_t, const int64_t*, size_t, int, void**)>(api[49]);
  const auto create_place = reinterpret_cast<void* (*)(int, int, void**)>(api[69]);
  const auto release = reinterpret_cast<void (*)(void*)>(api[96]);
  if (create_env(3, "border", &env) || create_options(&options) || set_threads(options, 1) ||
      create_session(env, argv[1], options, &session) || create_place(1, 0, &place)) return 1;"""
ORT_BODY = """if (create_tensor(place, x, 64, shape, 2, 1, &values[0]) || create_tensor(place, y, 64, shape, 2, 1, &values[1]) ||
                   run(session, nullptr, &input, &values[0], 1, &output, 1, &values[1])) return 1;
               release(values[0]); release(values[1]);"""
CPP_BODY = 'session.Input(x, 16, "x").Output(y, 16, "y").Run();'


def native(folder, build, name, *arguments, **parts):
    source = folder / f"{name}.cc"
    source.write_text(C_LOOP % dict(parts, calls=CALLS, rounds=ROUNDS))
    subprocess.run(["c++", "-std=c++17", "-O2", source, f"-I{ROOT}/library/include", f"-L{build}", "-lashlar", "-ldl",
                    f"-Wl,-rpath,{build}", "-o", folder / name], check=True)
    out = subprocess.run([folder / name, folder / "relu.onnx", *arguments], check=True, capture_output=True, text=True).stdout
    return min(map(float, out.split()))


def peer_rows(folder, build):
    """ONNX Runtime in C; LiteRT's wheel has no C interface."""
    spec = importlib.util.find_spec("onnxruntime")
    library = spec and next(pathlib.Path(spec.origin).parent.glob("capi/libonnxruntime.so.*"), None)
    if library:
        yield "ONNX Runtime, C", native(folder, build, "ort", library, pp="", setup=ORT_SETUP, body=ORT_BODY)


def timed(call):
    """Returns the microseconds of a call in the best round."""
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for _ in range(CALLS):
            call()
        best = min(best, (time.perf_counter() - begin) * 1e6 / CALLS)
    return best


def varint_field(number, value):
    return bytes([number << 3, value])


def bytes_field(number, data):
    data = data.encode() if isinstance(data, str) else data
    return bytes([number << 3 | 2, len(data)]) + data


def relu_model():
    """Returns y = relu(x), 1x16 floats, as an ONNX file."""
    dims = b"".join(bytes_field(1, varint_field(1, size)) for size in (1, 16))
    info = bytes_field(2, bytes_field(1, varint_field(1, 1) + bytes_field(2, dims)))
    node = bytes_field(1, "x") + bytes_field(2, "y") + bytes_field(4, "Relu")
    graph = (bytes_field(1, node) + bytes_field(2, "g") + bytes_field(11, bytes_field(1, "x") + info) +
             bytes_field(12, bytes_field(1, "y") + info))
    return varint_field(1, 8) + bytes_field(7, graph) + bytes_field(8, bytes_field(1, "") + varint_field(2, 17))


def python_rows(folder):
    import numpy as np
    sys.path.insert(0, str(ROOT / "python"))
    import ashlar_runtime
    x, y = np.zeros((1, 16), np.float32), np.zeros((1, 16), np.float32)
    others = [np.zeros((1, 16), np.float32) for _ in range(2)]
    run = ashlar_runtime.load(folder / "relu.onnx").compile(threads=1)
    yield "Ashlar, Python, other tensors each time", timed(lambda: (run(others[0], out=y), run(others[1], out=x))) / 2
    yield "Ashlar, Python, the same tensors", timed(lambda: run(x, out=y))
    try:
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(folder / "relu.onnx"), options, providers=["CPUExecutionProvider"])
        yield "ONNX Runtime, Python, run()", timed(lambda: session.run(None, {"x": x}))
        binding = session.io_binding()

        def bound():
            binding.bind_cpu_input("x", x)
            binding.bind_output("y", "cpu")
            session.run_with_iobinding(binding)

        yield "ONNX Runtime, Python, I/O binding", timed(bound)
    except ImportError:
        print("onnxruntime is not installed", file=sys.stderr)
    try:
        from ai_edge_litert.interpreter import Interpreter
        interpreter = Interpreter(model_content=lite_model(), num_threads=1)
        interpreter.allocate_tensors()
        source, target = interpreter.get_input_details()[0]["index"], interpreter.get_output_details()[0]["index"]

        def lite():
            interpreter.set_tensor(source, x)
            interpreter.invoke()
            interpreter.get_tensor(target)

        yield "LiteRT, Python, set, invoke, get", timed(lite)
    except ImportError:
        print("ai_edge_litert is not installed", file=sys.stderr)


FLATBUFFER = """table OperatorCode { deprecated_builtin_code:byte; custom_code:string; version:int=1; builtin_code:int; }
table Tensor { shape:[int]; type:byte; buffer:uint; name:string; }
table Operator { opcode_index:uint; inputs:[int]; outputs:[int]; }
table SubGraph { tensors:[Tensor]; inputs:[int]; outputs:[int]; operators:[Operator]; name:string; }
table Buffer { data:[ubyte]; }
table Model { version:uint; operator_codes:[OperatorCode]; subgraphs:[SubGraph]; description:string; buffers:[Buffer]; }
root_type Model;
file_identifier "TFL3";
"""
LITE = """{version: 3, operator_codes: [{deprecated_builtin_code: 19, builtin_code: 19}], buffers: [{}],
 subgraphs: [{tensors: [{shape: [1, 16], name: "x"}, {shape: [1, 16], name: "y"}], inputs: [0], outputs: [1],
              operators: [{inputs: [0], outputs: [1]}]}]}"""


def lite_model():
    """Returns the same for TensorFlow Lite, written by flatc from the required tables of the
    format.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "lite.fbs").write_text(FLATBUFFER)
        (folder / "lite.json").write_text(LITE)
        subprocess.run(["flatc", "-b", "-o", folder, folder / "lite.fbs", folder / "lite.json"], check=True)
        return next(path for path in folder.iterdir() if path.suffix not in (".fbs", ".json")).read_bytes()


FIRST = {
    "Ashlar, packed file": "import ashlar_runtime as a; run = a.load({ash!r}).compile(threads={threads}); y = run(x)",
    "ONNX Runtime": "import onnxruntime as o; s = o.SessionOptions(); s.intra_op_num_threads = {threads}; "
                    "y = o.InferenceSession({onnx!r}, s, providers=['CPUExecutionProvider']).run(None, {{'data': x}})",
}


def first_results(folder, command, threads=2):
    """Returns the milliseconds from import to the first result, with numpy loaded, in fresh
    processes.
    """
    plain, packed, onnx = (str(folder / f"resnet50.{ending}") for ending in ("ash", "packed.ash", "onnx"))
    subprocess.run([command, "zoo", "resnet50", "-o", plain, "-q"], check=True)
    subprocess.run([command, "convert", plain, "-o", packed, "--pack", "-q"], check=True)
    subprocess.run([command, "convert", plain, "-o", onnx, "-q"], check=True)
    times = {name: [] for name in FIRST}
    for _ in range(7):  # alternately
        for name, text in FIRST.items():
            code = ("import time, numpy as np; x = np.zeros((1, 3, 224, 224), np.float32); begin = time.perf_counter(); " +
                    text.format(ash=packed, onnx=onnx, threads=threads) + "; print((time.perf_counter() - begin) * 1e3)")
            result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                                    env=dict(os.environ, PYTHONPATH=str(ROOT / "python")))
            if result.returncode == 0:
                times[name].append(float(result.stdout))
    for name, measured in times.items():
        if measured:
            yield name, statistics.median(measured)


def main(build):
    os.environ["LD_LIBRARY_PATH"] = build
    if "ASHLAR_BORDER" not in os.environ:  # the loader reads the path when a program starts
        os.execve(sys.executable, [sys.executable, *sys.argv], dict(os.environ, ASHLAR_BORDER="1"))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "relu.onnx").write_bytes(relu_model())
        rows = [("Ashlar, C", native(folder, build, "c", pp="", setup=C_SETUP, body=C_BODY)),
                ("Ashlar, C++", native(folder, build, "cpp", pp="pp", setup=CPP_SETUP, body=CPP_BODY)),
                *peer_rows(folder, build), *python_rows(folder)]
        print("| bind and run | us |\n|---|---:|")
        for label, value in rows:
            print(f"| {label} | {value:.2f} |", flush=True)
        print("\n| ResNet-50, from import to the first result | ms |\n|---|---:|")
        for label, value in first_results(folder, os.path.join(build, "ashlar")):
            print(f"| {label} | {value:.0f} |", flush=True)


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release"))
