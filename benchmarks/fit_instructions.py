#!/usr/bin/env python3
"""Fits the table of instructions (runtime/mcu/instructions.inc) to counts of each call under qemu, and prints it.

usage: fit_instructions.py ASHLAR SHARED > runtime/mcu/instructions.inc
Needs numpy, scipy and onnx, and what tests/codegen/cross_test.py needs. Programs are built with -Os, as that test's table.
Small models are added, so that every function is called.
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
from onnx import TensorProto, checker, helper, save
from scipy.optimize import nnls

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/codegen"))
import cross_test  # noqa: E402

WORK = ["pixels", "results", "runs", "products", "fours", "sixteens"]
# The columns of the table: a target, and macros.
COLUMNS = [("Cortex-M4", ["-DASHLAR_PORTABLE"]), ("Cortex-M7", []), ("Cortex-M55", []), ("RV32IMC", [])]
# Under data/int8, or of the zoo at a size: networks, then operators that these lack or have in one shape.
MODELS = ["digits/digits.u8", "tiny/kws", "tiny/ic", "digits/digits", "tiny/ad", "tiny/vww", "nodes/conv_3x3_relu6",
          "nodes/add", "nodes/max_pool_padded", "nodes/average_pool_3x3_exclude_pad", "nodes/resize_nearest", "nodes/concat",
          "nodes/sigmoid", "nodes/softmax", "nodes/conv_groups", "nodes/conv_dilated", "nodes/depthwise_5x5_stride2",
          "nodes/depthwise_s8", "nodes/conv_1x1_u8", "nodes/matmul", "nodes/quantize_ties_and_edges", "nodes/conv_first_layer",
          "zoo/tiling_chain 32"]
FUNCTIONS = ["Tanh", "Exp", "Sigmoid", "Erf", "Abs", "Sqrt", "Floor"]
MADE = [*FUNCTIONS, "ReduceMean4", "ReduceMean2", "Resize"]


def make_floats(folder):
    """Writes models of functions of floats that the others lack."""

    def write(name, size, nodes, out, constants=()):
        tensors = [helper.make_tensor_value_info(tensor, TensorProto.FLOAT, shape) for tensor, shape in [("x", size), ("y", out)]]
        graph = helper.make_graph(nodes, name, tensors[:1], tensors[1:], list(constants))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        checker.check_model(model)
        save(model, folder / f"{name}.onnx")

    node = helper.make_node
    for function in FUNCTIONS:
        write(function, [1, 16, 20], [node(function, ["x"], ["y"])], [1, 16, 20])
    for size in [[4, 16, 20], [2, 50, 8]]:
        write(f"ReduceMean{size[0]}", size, [node("ReduceMean", ["x"], ["y"], axes=[2], keepdims=1)], [*size[:2], 1])
    scales = helper.make_tensor("scales", TensorProto.FLOAT, [4], [1, 1, 2, 2])
    write("Resize", [1, 4, 8, 8], [node("Resize", ["x", "", "scales"], ["y"], mode="linear")], [1, 4, 16, 16], [scales])


def find_model(name, ashlar, shared, folder):
    if name.startswith("zoo/"):
        net, image = name[4:].split()
        cross_test.run([ashlar, "zoo", net, "--image", image, "-o", folder / f"{net}.ash"])
        return folder / f"{net}.ash"
    places = [folder, ROOT / "tests/data/int8", pathlib.Path(shared) / "data/int8"]
    found = [path for place in places if (path := place / f"{name}.onnx").exists()]
    return found[0]


def wrappers(functions):
    """Returns C that prints the instructions of each call. Functions take up to seven pointers; reading more of them
    than were passed does no harm."""
    text = '#include <stdio.h>\n#include "host.h"\n'
    for name in functions:
        pointers = ", ".join(f"void* {p}" for p in "abcdefg")
        text += (f"void __real_ashlar_{name}({pointers});\nvoid __wrap_ashlar_{name}({pointers}) {{\n"
                 f"  const uint64_t start = host_instructions();\n  __real_ashlar_{name}(a, b, c, d, e, f, g);\n"
                 f'  printf("call %lu\\n", (unsigned long)(host_instructions() - start));\n}}\n')
    return text


class Column:
    """A target with its kernels and start-up code, compiled once."""

    def __init__(self, name, macros, folder):
        folder.mkdir()
        self.target = next(target for target in cross_test.TARGETS if target.name == name)
        self.objects = cross_test.compile_firmware(self.target, folder)
        for source in sorted((ROOT / "runtime/mcu/c99").glob("*.c")):
            self.objects.append(self.compile(source, folder, [*cross_test.STRICT, *macros, "-Os", "-I", ROOT]))

    def compile(self, source, folder, flags):
        made = folder / source.with_suffix(".o").name
        cross_test.run([self.target.tools + "gcc", *self.target.flags, *flags, "-ffunction-sections", "-fdata-sections", "-c",
                        source, "-o", made])
        return made


def count_calls(column, folder, report):
    """Returns the instructions of each call."""
    (folder / "wrappers.c").write_text(wrappers(report["kernels"]))
    objects = [column.compile(folder / f"{name}.c", folder, ["-std=c99", "-O1", '-DNET_SECTION=".weights"', "-I", cross_test.FIRMWARE])
               for name in ["net", "net_weights", "net_test", "wrappers"]]
    wrapped = [f"-Wl,--wrap=ashlar_{name}" for name in report["kernels"]]
    target, elf = column.target, folder / "fit.elf"
    cross_test.link(target, folder, elf, [*wrapped, *objects, *column.objects])
    return [int(count) for count in re.findall(r"^call (\d+)$", cross_test.emulate(target, elf), re.M)]


def fit(calls):
    """Returns instructions of a call and for each unit of work, with the least squares of relative errors."""
    work = numpy.array([[1, *row] for row, _ in calls], dtype=float)
    counts = numpy.array([max(count, 100) for _, count in calls], dtype=float)
    return nnls(work / counts[:, None], numpy.ones(len(calls)))[0]


def main(ashlar, shared):
    calls = collections.defaultdict(list)  # by function and column
    with tempfile.TemporaryDirectory() as temporary:
        root = pathlib.Path(temporary)
        columns = [Column(name, macros, root / str(i)) for i, (name, macros) in enumerate(COLUMNS)]
        make_floats(root)
        for name in [*MODELS, *MADE]:
            folder = root / name.replace("/", "_")
            report = json.loads(cross_test.run([ashlar, "compile", find_model(name, ashlar, shared, root), "--name", "net", "-o",
                                                folder, "--json", "--quiet"]))
            for column in range(len(columns)):
                try:
                    counts = count_calls(columns[column], folder, report)
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    print(f"{name} on {COLUMNS[column][0]}: {str(error)[-400:]}", file=sys.stderr, flush=True)
                    continue
                assert len(counts) == len(report["work"]), (name, len(counts), len(report["work"]))
                for call, count in zip(report["work"], counts):
                    calls[call["function"], column].append(([call[kind] for kind in WORK], count))
            print(f"{name}: {len(report['work'])} calls", file=sys.stderr, flush=True)
    print("// By function: for portable C, DSP, MVE and RV32IMC the instructions of a call, and for each of its pixels,\n"
          "// results, runs, products, fours and sixteens. Written by benchmarks/fit_instructions.py.")
    for column in range(len(COLUMNS)):
        calls["ternary", column] = calls["binary", column]  # not counted: the same walk
    for function in sorted({function for function, _ in calls}):
        costs = []
        for column in range(len(COLUMNS)):
            cost = fit(calls[function, column])
            ratios = [numpy.dot(cost, [1, *work]) / max(count, 1) for work, count in calls[function, column] if count > 1000]
            if ratios:
                print(f"{function} {COLUMNS[column][0]}: {len(ratios)} calls, {min(ratios):.2f} to {max(ratios):.2f}", file=sys.stderr)
            costs.append("{" + ", ".join(f"{value:.4g}" for value in cost) + "}")
        print('{"%s",\n {%s}},' % (function, ",\n  ".join(costs)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
