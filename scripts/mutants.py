#!/usr/bin/env python3
"""Plants known faults into the kernels, one at a time, and checks that the tests named here fail.

The faults are planted into a copy of the checkout, in build/mutants. Ends with 1 if the tests fail
without a fault, or pass with one.

    python3 scripts/mutants.py            # all
    python3 scripts/mutants.py halo       # the ones whose names contain this
"""
import pathlib
import re
import shutil
import subprocess
import sys
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[1]
COPY = ROOT / "build/mutants"
BUILD = COPY / "build/release"


class Fault(NamedTuple):
    name: str
    file: str
    line: str     # a part of the file that occurs once
    planted: str  # which replaces it
    program: str  # a test program
    tests: str    # a filter of its tests, of which one must fail


FAULTS = (
    Fault("the halo of a tile is one row short", "opr/base/window_operator.cc",
          "  regions[0][2] = windows->h.Needed(output[2]);\n",
          "  regions[0][2] = windows->h.Needed(output[2]);\n"
          "  if (regions[0][2].end - regions[0][2].begin > 1) --regions[0][2].end;\n",
          "runtime_cpu_test", "TiledCases.GiveTheSameAsWhole"),
    Fault("the scale of a sum of 8 bits is of the other input", "runtime/cpu/quantized/elementwise.cc",
          "static_cast<float>(right) * call.of_b.scale;", "static_cast<float>(right) * call.of_a.scale;",
          "runtime_cpu_test", "*CpuKernels.ComputeWhatTheirOperatorMeans/ElemwiseMultiType"),
    Fault("a kernel of integers computes in doubles", "runtime/cpu/pointwise.cc",
          'NumbersKernel<WrappingInt>("elementwise:integers"', 'NumbersKernel<double>("elementwise:integers"',
          "runtime_cpu_test", "*CpuKernels.ComputeWhatTheirOperatorMeans/Elemwise"),
    Fault("the reference of integers computes in doubles", "opr/elemwise.cc",
          "{ EvaluateIn<Number>(param(), inputs, output); }", "{ EvaluateIn<double>(param(), inputs, output); }",
          "opr_test", "IntegersTest.EveryFunctionOfIntegersIsExactAtTheEndsOfTheRange"),
)


def copy_checkout():
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        source, copy = ROOT / name, COPY / name
        if not source.is_file() or (copy.is_file() and copy.read_bytes() == source.read_bytes()):
            continue  # an unchanged file keeps its time, so that it is not built again
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copy)
    subprocess.run([COPY / "scripts/configure.sh", "release", "-DASHLAR_WITH_CUDA=OFF"], check=True)


def tests_fail(fault):
    """Build and run a fault's tests. Raises if they cannot be built, or if no test has the name."""
    subprocess.run(["cmake", "--build", BUILD, "--target", fault.program], check=True, stdout=subprocess.DEVNULL)
    run = subprocess.run([BUILD / fault.program, f"--gtest_filter={fault.tests}"], capture_output=True, text=True)
    if not re.search(r"Running [1-9][0-9]* test", run.stdout):
        raise RuntimeError(f"{fault.program} has no test {fault.tests}")
    return run.returncode != 0


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    faults = [fault for fault in FAULTS if wanted in fault.name]
    if not faults:
        sys.exit(f"no fault '{wanted}'; there are: " + "; ".join(fault.name for fault in FAULTS))
    copy_checkout()
    missed = 0
    for fault in faults:
        path = COPY / fault.file
        text = path.read_text()
        if text.count(fault.line) != 1:
            sys.exit(f"{fault.file}: expected once, found {text.count(fault.line)} times: {fault.line.strip()}")
        if tests_fail(fault):
            sys.exit(f"{fault.tests} fails without a fault")
        path.write_text(text.replace(fault.line, fault.planted))
        found = tests_fail(fault)
        path.write_text(text)
        missed += not found
        print(f"{'found' if found else 'MISSED'}: {fault.name} ({fault.file}), by {fault.tests}", flush=True)
    return missed > 0


if __name__ == "__main__":
    sys.exit(main())
