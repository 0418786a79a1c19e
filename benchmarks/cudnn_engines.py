#!/usr/bin/env python3
"""Lists the engines that cuDNN's heuristics offer for convolutions, asking the library itself with
a described GPU.

    benchmarks/cudnn_engines.py        # Markdown, for benchmarks/results/gpu-engines.md
    benchmarks/cudnn_engines.py --json engines.json --batch 1 64
    benchmarks/cudnn_engines.py --device --only NCHW    # for the GPU of this machine

Needs no GPU and no driver without --device. The GPU is the one that Ashlar plans for without one
(runtime/cuda/toolkit/library_device.cc); names and numbers are the headers'. Listed engines
finalize as plans; only a GPU can tell how fast they are. The library compiles "compiled" engines at
run time, which takes about a second each.
"""
import argparse
import ctypes
import dataclasses
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
MOST = 64  # configurations in a list


def enumerators(header):
    """Returns the names and numbers of all enumerations in a C header."""
    values = {}
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.S)
    for body in re.findall(r"enum\s*\{(.*?)\}", text, flags=re.S):
        following = 0
        for entry in filter(None, map(str.strip, body.split(","))):
            name, _, value = (part.strip() for part in entry.partition("="))
            name = name.split()[0]
            if value:
                try:
                    following = values[value] if value in values else int(value, 0)
                except ValueError:
                    continue  # an expression, only in error codes
            values[name] = following
            following += 1
    return values


class Library:
    """cuDNN's backend interface."""

    def __init__(self, path, headers, device=False):
        self.calls = ctypes.CDLL(path)
        self.values = enumerators((headers / "cudnn_graph.h").read_text())
        self.calls.cudnnGetErrorString.restype = ctypes.c_char_p
        self.calls.cudnnGetVersion.restype = ctypes.c_size_t
        self.handle = self.device = None
        if device:
            self.handle = ctypes.c_void_p()
            self.check(self.calls.cudnnCreate(ctypes.byref(self.handle)))
            return
        source = (HERE.parent / "runtime/cuda/toolkit/library_device.cc").read_text()
        described = re.search(r'R"\((.*?)\)"', source, flags=re.S).group(1).encode() + b"\0"
        self.device = self.make("BACKEND_DEVICEPROP", DEVICEPROP_JSON_REPRESENTATION=("CHAR", described))

    def __getitem__(self, name):
        return self.values["CUDNN_" + name]

    def make(self, kind, **attributes):
        """Returns a finalized descriptor; ValueError with the library's message if it refuses."""
        one = ctypes.c_void_p()
        self.check(self.calls.cudnnBackendCreateDescriptor(self[kind + "_DESCRIPTOR"], ctypes.byref(one)))
        for name, (kind_of, value) in attributes.items():
            array = self.array(kind_of, value)
            count = len(value) if isinstance(value, (list, tuple, bytes)) else 1
            self.check(self.calls.cudnnBackendSetAttribute(one, self["ATTR_" + name], self["TYPE_" + kind_of],
                                                           ctypes.c_int64(count), array))
        self.check(self.calls.cudnnBackendFinalize(one))
        return one

    def array(self, kind, value):
        if isinstance(value, bytes):
            return ctypes.create_string_buffer(value, len(value))
        values = list(value) if isinstance(value, (list, tuple)) else [value]
        if kind in ("BACKEND_DESCRIPTOR", "HANDLE"):
            return (ctypes.c_void_p * len(values))(*(one.value for one in values))
        types = {"INT64": ctypes.c_int64, "FLOAT": ctypes.c_float, "DOUBLE": ctypes.c_double, "BOOLEAN": ctypes.c_bool}
        if kind not in types:  # an enumeration, by name
            return (ctypes.c_int * len(values))(*(self[name] for name in values))
        return (types[kind] * len(values))(*values)

    def device_of(self, prefix, handle):
        """Returns the attribute that names the device: the described one, or by a handle."""
        if self.handle:
            return {handle: ("HANDLE", self.handle)}
        return {prefix + "_DEVICEPROP": ("BACKEND_DESCRIPTOR", self.device)}

    def check(self, status):
        if status != 0:
            raise ValueError(self.calls.cudnnGetErrorString(status).decode())

    def numbers(self, one, name, kind, most, of=ctypes.c_int):
        count = ctypes.c_int64()
        into = (of * most)()
        self.check(self.calls.cudnnBackendGetAttribute(one, self["ATTR_" + name], self["TYPE_" + kind],
                                                       ctypes.c_int64(most), ctypes.byref(count), into))
        return list(into)[:min(count.value, most)]

    def parts(self, one, name, kind, most):
        """Returns the attributes that are descriptors."""
        made = (ctypes.c_void_p * most)()
        for i in range(most):
            part = ctypes.c_void_p()
            self.check(self.calls.cudnnBackendCreateDescriptor(self[kind + "_DESCRIPTOR"], ctypes.byref(part)))
            made[i] = part.value
        count = ctypes.c_int64()
        self.check(self.calls.cudnnBackendGetAttribute(one, self["ATTR_" + name], self["TYPE_BACKEND_DESCRIPTOR"],
                                                       ctypes.c_int64(most), ctypes.byref(count), made))
        return [ctypes.c_void_p(value) for value in list(made)[:min(count.value, most)]]

    def name(self, prefix, number):
        return next(name[len(prefix):] for name, value in self.values.items()
                    if name.startswith(prefix) and value == number)


@dataclasses.dataclass(frozen=True)
class Problem:
    """A convolution in NHWC and the operations after it."""
    c: int
    k: int
    size: int  # of the square image
    window: int
    stride: int = 1
    groups: int = 1
    z: bool = False
    tail: str = "relu"  # bias and: relu, relu6, none; "alone": not even a bias
    before: int = -1  # rows of padding before; -1: the same as after, half the window
    behind: int = -1
    channels_of_y: int = 0  # of the tensor that the output is a slice of; 0: of its own
    batch: int = 1
    dtype: str = "HALF"
    last: bool = True  # channels last; otherwise NCHW
    sums: str = "FLOAT"  # dtype of the convolution's sums, and of its virtual output
    y: str = ""  # the output's dtype; "": dtype
    scaled: bool = False  # a factor by channel before the bias
    mode: str = "A"  # of the heuristics

    def text(self):
        words = [f"{self.window}x{self.window}/{self.stride}" if self.stride > 1 else f"{self.window}x{self.window}",
                 f"{self.c}->{self.k}", f"{self.size}x{self.size}"]
        words += [f"groups {self.groups}"] * (self.groups > 1) + ["z"] * self.z + [self.tail] * (self.tail != "relu")
        if self.before != self.behind:
            words.append(f"rows {self.before}, {self.behind} before, behind")
        if self.sums != "FLOAT":
            words += ["scale"] * self.scaled
        if self.channels_of_y:
            words.append(f"y in {self.channels_of_y} channels")
        return " ".join(words)


def strides(dims, last, channels=0):
    n, c, h, w = dims
    c = channels or c
    return [h * w * c, 1, w * c, c] if last else [c * h * w, h * w, w, 1]


def engines(library, problem):
    """Returns the configurations of the heuristics, in their order; a string if there are none."""
    p, half = problem, problem.window // 2
    before, behind = (half if rows < 0 else rows for rows in (p.before, p.behind))
    columns = (p.size + 2 * half - p.window) // p.stride + 1
    rows = (p.size + before + behind - p.window) // p.stride + 1
    numbers = iter(range(1, 100))

    def tensor(dims, virtual=False, channels=0, dtype=None):
        dtype = dtype or ("FLOAT" if virtual else p.dtype)
        return library.make("BACKEND_TENSOR", TENSOR_DATA_TYPE=("DATA_TYPE", ["DATA_" + dtype]),
                            TENSOR_DIMENSIONS=("INT64", dims), TENSOR_STRIDES=("INT64", strides(dims, p.last, channels)),
                            TENSOR_UNIQUE_ID=("INT64", next(numbers)), TENSOR_BYTE_ALIGNMENT=("INT64", 16),
                            TENSOR_IS_VIRTUAL=("BOOLEAN", virtual))

    y_dims = [p.batch, p.k, rows, columns]
    whole = p.sums != "FLOAT"
    steps = ["scale"] * p.scaled + ["z"] * p.z + ["bias"] * (p.tail != "alone") + ["activation"] * (p.tail.startswith("relu"))
    outputs = [tensor(y_dims, virtual=True, dtype=p.sums if i == 0 else None) for i in range(len(steps))]
    outputs.append(tensor(y_dims, channels=p.channels_of_y, dtype=p.y or None))
    convolution = library.make(
        "BACKEND_CONVOLUTION", CONVOLUTION_SPATIAL_DIMS=("INT64", 2), CONVOLUTION_COMP_TYPE=("DATA_TYPE", ["DATA_" + p.sums]),
        CONVOLUTION_CONV_MODE=("CONVOLUTION_MODE", ["CROSS_CORRELATION"]),
        CONVOLUTION_FILTER_STRIDES=("INT64", [p.stride] * 2), CONVOLUTION_DILATIONS=("INT64", [1, 1]),
        CONVOLUTION_PRE_PADDINGS=("INT64", [before, half]), CONVOLUTION_POST_PADDINGS=("INT64", [behind, half]))
    prefix = "OPERATION_CONVOLUTION_FORWARD_"
    operations = [library.make("BACKEND_OPERATION_CONVOLUTION_FORWARD", **{
        prefix + "CONV_DESC": ("BACKEND_DESCRIPTOR", convolution),
        prefix + "X": ("BACKEND_DESCRIPTOR", tensor([p.batch, p.c, p.size, p.size])),
        prefix + "W": ("BACKEND_DESCRIPTOR", tensor([p.k, p.c // p.groups, p.window, p.window],
                                                    dtype="INT8" if whole else None)),
        prefix + "Y": ("BACKEND_DESCRIPTOR", outputs[0]),
        prefix + "ALPHA": ("FLOAT", 1.0), prefix + "BETA": ("FLOAT", 0.0)})]
    for i, step in enumerate(steps):
        mode = {"activation": "POINTWISE_RELU_FWD", "scale": "POINTWISE_MUL"}.get(step, "POINTWISE_ADD")
        clips = {"POINTWISE_RELU_LOWER_CLIP": ("DOUBLE", 0.0), "POINTWISE_RELU_UPPER_CLIP": ("DOUBLE", 6.0)}
        pointwise = library.make("BACKEND_POINTWISE", POINTWISE_MODE=("POINTWISE_MODE", [mode]),
                                 POINTWISE_MATH_PREC=("DATA_TYPE", ["DATA_FLOAT"]),
                                 **(clips if step == "activation" and p.tail == "relu6" else {}))
        added = {} if step == "activation" else {"OPERATION_POINTWISE_BDESC": (
            "BACKEND_DESCRIPTOR", tensor(
                y_dims if step == "z" else [1, p.k, 1, 1], dtype="FLOAT" if whole and step != "z" else None))}
        operations.append(library.make("BACKEND_OPERATION_POINTWISE",
                                       OPERATION_POINTWISE_PW_DESCRIPTOR=("BACKEND_DESCRIPTOR", pointwise),
                                       OPERATION_POINTWISE_XDESC=("BACKEND_DESCRIPTOR", outputs[i]), **added,
                                       OPERATION_POINTWISE_YDESC=("BACKEND_DESCRIPTOR", outputs[i + 1])))
    try:
        # The graph names a real device, and the heuristics a described one.
        real = {"OPERATIONGRAPH_HANDLE": ("HANDLE", library.handle)} if library.handle else {}
        graph = library.make("BACKEND_OPERATIONGRAPH", OPERATIONGRAPH_OPS=("BACKEND_DESCRIPTOR", operations), **real)
        described = {} if library.handle else {"ENGINEHEUR_DEVICEPROP": ("BACKEND_DESCRIPTOR", library.device)}
        heuristics = library.make("BACKEND_ENGINEHEUR", ENGINEHEUR_OPERATION_GRAPH=("BACKEND_DESCRIPTOR", graph),
                                  ENGINEHEUR_MODE=("HEUR_MODE", ["HEUR_MODE_" + p.mode]), **described)
    except ValueError as error:
        return str(error)
    configs = library.parts(heuristics, "ENGINEHEUR_RESULTS", "BACKEND_ENGINECFG", MOST)
    return [engine(library, config) for config in configs]


def engine(library, config):
    one = library.parts(config, "ENGINECFG_ENGINE", "BACKEND_ENGINE", 1)[0]
    notes = [library.name("CUDNN_NUMERICAL_NOTE_", note)
             for note in library.numbers(one, "ENGINE_NUMERICAL_NOTE", "NUMERICAL_NOTE", 32)]
    behavior = [library.name("CUDNN_BEHAVIOR_NOTE_", note)
                for note in library.numbers(one, "ENGINE_BEHAVIOR_NOTE", "BEHAVIOR_NOTE", 32)]
    knobs = {}
    for knob in library.parts(config, "ENGINECFG_KNOB_CHOICES", "BACKEND_KNOB_CHOICE", 64):
        kind = library.numbers(knob, "KNOB_CHOICE_KNOB_TYPE", "KNOB_TYPE", 1)[0]
        knobs[kind] = library.numbers(knob, "KNOB_CHOICE_KNOB_VALUE", "INT64", 1, ctypes.c_int64)[0]
    row = {"engine": library.numbers(one, "ENGINE_GLOBAL_INDEX", "INT64", 1, ctypes.c_int64)[0], "knobs": knobs,
           "compiled": "RUNTIME_COMPILATION" in behavior, "tensor_cores": "TENSOR_CORE" in notes, "notes": notes}
    try:
        plan = library.make("BACKEND_EXECUTION_PLAN", EXECUTION_PLAN_ENGINE_CONFIG=("BACKEND_DESCRIPTOR", config),
                            **library.device_of("EXECUTION_PLAN", "EXECUTION_PLAN_HANDLE"))
        row["workspace"] = library.numbers(plan, "EXECUTION_PLAN_WORKSPACE_SIZE", "INT64", 1, ctypes.c_int64)[0]
    except ValueError as error:
        row["refused"] = str(error)
    return row


def counter(batch):
    """Returns the counts by problem, and the function that counts one more."""
    found = {}

    def add(*shape, **rest):
        problem = Problem(*shape, batch=batch, **rest)
        found[problem] = found.get(problem, 0) + 1

    return found, add


def resnet50(batch):
    """Counts ResNet-50's problems, with the stride in the 3x3 convolutions."""
    found, add = counter(batch)
    add(3, 64, 224, 7, 2)
    channels, size = 64, 56
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner = 64 << stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            add(channels, inner, size, 1)
            add(inner, inner, size, 3, stride)
            if block == 0:
                add(channels, 4 * inner, size, 1, stride, tail="none")
            size //= stride
            add(inner, 4 * inner, size, 1, z=True)
            channels = 4 * inner
    return found


def mobilenet_v2(batch):
    found, add = counter(batch)
    add(3, 32, 224, 3, 2, tail="relu6")
    channels, size = 32, 112
    for expansion, outputs, blocks, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                              (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(blocks):
            stride, wide = first if block == 0 else 1, channels * expansion
            if expansion > 1:
                add(channels, wide, size, 1, tail="relu6")
            add(wide, wide, size, 3, stride, wide, tail="relu6")
            size //= stride
            add(wide, outputs, size, 1, z=block > 0, tail="none")
            channels = outputs
    add(320, 1280, 7, 1, tail="relu6")
    return found


def questions(batch):
    """Returns problems that occur in no model but answer a question, by question."""
    stem, conv = Problem(3, 64, 224, 7, 2, batch=batch), Problem(64, 64, 56, 3, batch=batch)
    pointwise = Problem(256, 64, 56, 1, batch=batch)
    change = dataclasses.replace
    tails = [change(pointwise, tail=tail) for tail in ("alone", "none", "relu", "relu6")]
    return {
        "The first layer with 3, 4 and 8 channels": [change(stem, c=c) for c in (3, 4, 8)]
        + [change(stem, c=c, dtype="BFLOAT16") for c in (3, 4, 8)] + [change(stem, c=c, dtype="FLOAT") for c in (3, 4)],
        "Outputs that lie in wider tensors": [change(one, channels_of_y=one.k * wide, tail=tail)
                                              for one in (conv, pointwise) for tail in ("relu", "none", "alone") for wide in (0, 2)],
        "Padding that is not the same before and behind": [change(conv, before=b, behind=a)
                                                           for b, a in ((1, 1), (1, 0), (0, 1), (0, 0))],
        "Wide filters in NCHW, whose engines may transform": [
            Problem(16, 32, 12, window, tail=tail, batch=batch, dtype=dtype, last=False, mode=mode)
            for window in (3, 5, 7) for tail in ("alone", "relu") for dtype in ("HALF", "FLOAT") for mode in ("A", "FALLBACK")],
        "What may follow a 1x1 convolution": tails + [change(pointwise, c=64, k=256, z=True)],
    }


def eight_bits(found):
    """Returns the problems of a model in 8 bits, by dtype of the image and following operations.
    Images have 4 channels for 3, as rows of words.
    """
    change = dataclasses.replace

    def of(dtype, y, scaled, tail):
        made = {}
        for problem, count in found.items():
            rest = {"tail": tail} if tail else {}
            one = change(problem, c=4 if problem.c == 3 else problem.c, dtype=dtype, sums="INT32", y=y, scaled=scaled,
                         z=problem.z and scaled, **rest)
            made[one] = made.get(one, 0) + count
        return made

    return {"int8 to int32, sums alone": of("INT8", "INT32", False, "alone"),
            "int8 to float, sums alone": of("INT8", "FLOAT", False, "alone"),
            "int8 to int8, bias, activation": of("INT8", "INT8", False, ""),
            "int8 to int8, scale, bias, activation": of("INT8", "INT8", True, ""),
            "uint8 to int32, sums alone": of("UINT8", "INT32", False, "alone"),
            "uint8 to uint8, scale, bias, activation": of("UINT8", "UINT8", True, "")}


def head(rows):
    """Summarizes a list: how many engines, how many of them compiled, and the first ones."""
    if isinstance(rows, str):
        return ["0", "-", "-", "-", f"none: {rows}"]
    fine = [row for row in rows if "refused" not in row]
    plain = [row for row in fine if not row["compiled"]]

    def name(row):
        return f"{row['engine']}" + ("t" if row["tensor_cores"] else "") + ("c" if row["compiled"] else "")

    order = " ".join(dict.fromkeys(name(row) for row in rows[:12]))
    first = next((str(i + 1) for i, row in enumerate(rows) if "refused" not in row and not row["compiled"]), "-")
    least = min((row["workspace"] for row in plain), default=None)
    return [str(len(rows)), str(len(rows) - len(fine)), f"{sum(row['compiled'] for row in rows)}", first,
            order + ("" if least in (0, None) else f"; least workspace {least}")]


COLUMNS = ["listed", "refused as plans", "compiled", "first not compiled", "engines in their order"]


def table(lines, columns):
    print("| " + " | ".join(columns) + " |\n|---|" + "---:|" * (len(columns) - 2) + "---|")
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", default="libcudnn.so.9")
    parser.add_argument("--headers", type=pathlib.Path, default=pathlib.Path("/usr/local/cuda/include"))
    parser.add_argument("--batch", nargs="+", type=int, default=[1, 64])
    parser.add_argument("--json", type=pathlib.Path, help="all that was found")
    parser.add_argument("--device", action="store_true", help="ask for the GPU of this machine, not for a described one")
    parser.add_argument("--only", default="", help="ask only what has this word in its title")
    args = parser.parse_args()
    library = Library(args.library, args.headers, args.device)
    print(f"cuDNN {library.calls.cudnnGetVersion()}; engines by their numbers: `t` on tensor cores, `c` compiled at run time.\n")
    document = []

    def show(title, about, problems):
        """Prints a table of problems with their counts, or one line if nothing is listed for any.
        """
        if args.only not in title:
            return
        print(f"## {title}\n")
        lines = []
        for problem, count in problems:
            rows = engines(library, problem)
            document.append({**about, "problem": dataclasses.asdict(problem), "count": count, "engines": rows})
            text = f"{count} x {problem.text()}" if "model" in about else f"{problem.text()}, {problem.dtype.lower()}"
            lines.append((rows, [text + (f", {problem.mode.lower()}" if problem.mode != "A" else ""), *head(rows)]))
        if any(rows for rows, _ in lines):
            table([line for _, line in lines], ["convolutions", *COLUMNS])
        else:
            print(f"Nothing is listed for any of these {len(lines)} problems.\n")

    for batch in args.batch:
        for model, problems in (("ResNet-50", resnet50(batch)), ("MobileNetV2", mobilenet_v2(batch))):
            show(f"{model}, batch {batch}, fp16", {"model": model}, problems.items())
    for question, problems in questions(args.batch[-1]).items():
        show(f"{question}, batch {args.batch[-1]}", {"question": question}, [(problem, 1) for problem in problems])
    for model, found in (("ResNet-50", resnet50(args.batch[0])), ("MobileNetV2", mobilenet_v2(args.batch[0]))):
        for kind, problems in eight_bits(found).items():
            show(f"{model} in 8 bits, batch {args.batch[0]}: {kind}", {"model": model + " in 8 bits"}, problems.items())
    if args.json:
        args.json.write_text(json.dumps(document, indent=1) + "\n")
    # Plans of ResNet-50 assume an engine on tensor cores for each of its problems.
    bare = [row["problem"] for row in document if row.get("model") == "ResNet-50"
            and not any(one["tensor_cores"] and "workspace" in one for one in row["engines"] if isinstance(one, dict))]
    if bare:
        sys.exit(f"no engine on tensor cores: {bare}")


if __name__ == "__main__":
    main()
