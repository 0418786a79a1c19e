#!/usr/bin/env python3
"""Runs the ONNX models written by tests in ONNX Runtime, and compares the results with host
evaluation.

    pip install -r benchmarks/requirements.txt
    mkdir cases
    ASHLAR_ONNX_CASES=cases build/release/serialization_test --gtest_filter='OnnxWriter.*'
    ASHLAR_ONNX_CASES=cases build/release/training_test --gtest_filter='*LossesAndDigits*'
    scripts/check_onnx.py cases
"""
import pathlib
import sys

import numpy
import onnxruntime

TOLERANCE = 1e-5  # relative to the largest magnitude of the output
NOT_IN_ONNX_RUNTIME = {"lrn_even"}  # ONNX allows LRN of an even size, ONNX Runtime does not


def check(model):
    base = model.with_suffix("")
    inputs = dict(numpy.load(f"{base}.inputs.npz"))
    expected = dict(numpy.load(f"{base}.outputs.npz"))
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    for i, actual in enumerate(session.run(None, inputs)):
        want = expected[str(i)]
        if actual.shape != want.shape or actual.dtype != want.dtype:
            return f"output {i} is {actual.dtype}{actual.shape}, expected {want.dtype}{want.shape}"
        scale = max(1.0, float(numpy.nanmax(numpy.abs(want), initial=0)))
        if not numpy.allclose(actual, want, rtol=0, atol=TOLERANCE * scale, equal_nan=True):
            error = float(numpy.nanmax(numpy.abs(actual - want))) / scale
            return f"output {i} differs by {error:.2e}"
    return None


def main():
    models = sorted(pathlib.Path(sys.argv[1]).glob("*.onnx"))
    models = [model for model in models if model.stem not in NOT_IN_ONNX_RUNTIME]
    failures = 0
    for model in models:
        try:
            problem = check(model)
        except Exception as error:  # also ONNX Runtime's own types
            problem = str(error)
        if problem:
            failures += 1
            print(f"{model.stem}: {problem}")
    print(f"{len(models)} models, {failures} failures")
    return 1 if failures or not models else 0


if __name__ == "__main__":
    sys.exit(main())
