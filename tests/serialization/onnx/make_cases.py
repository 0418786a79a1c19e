#!/usr/bin/env python3
"""Writes the node cases of the installed onnx package as a folder that the test OnnxNodeCases reads.
They include the expanded function bodies and the converted PyTorch layers and operators.

    pip install onnx
    tests/serialization/onnx/make_cases.py /tmp/cases
    ASHLAR_SHARED=/tmp/cases ASHLAR_ONNX_NODE_REPORT=/tmp/cases/report.tsv \\
        build/release/serialization_onnx_test --gtest_filter='OnnxNodeCases.*'

Cases whose inputs or outputs are no tensors (sequences, optional values) are left out.
"""
import pathlib
import shutil
import sys
import warnings

import numpy
import onnx
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

STORED = ("pytorch-converted", "pytorch-operator", "simple")  # folders in the package


def as_bytes(value, name):
    if isinstance(value, onnx.TensorProto):
        return value.SerializeToString()
    if value is None or isinstance(value, (list, dict)):
        raise TypeError(f"{name} is no tensor")
    return numpy_helper.from_array(numpy.asarray(value), name).SerializeToString()


def write_case(case, folder):
    data = folder / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(case.model, folder / "model.onnx")
    inputs, outputs = case.data_sets[0]
    for kind, values, infos in (("input", inputs, case.model.graph.input), ("output", outputs, case.model.graph.output)):
        for i, (value, info) in enumerate(zip(values, infos)):
            (data / f"{kind}_{i}.pb").write_bytes(as_bytes(value, info.name))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    warnings.filterwarnings("ignore")  # from reference values that overflow on purpose
    root = pathlib.Path(sys.argv[1]) / "data" / "onnx"
    rows, left_out = [], 0
    for case in collect_testcases():
        try:
            write_case(case, root / "node" / case.name)
        except (TypeError, ValueError):
            shutil.rmtree(root / "node" / case.name)
            left_out += 1
            continue
        if "_expanded" in case.name:
            rows.append(f"expanded\t{case.name}")
    package = pathlib.Path(onnx.__file__).parent / "backend" / "test" / "data"
    for kind in STORED:
        shutil.copytree(package / kind, root / kind)
        rows += [f"{kind}\t../{kind}/{folder.name}" for folder in sorted((root / kind).iterdir())]
    (root / "cases.tsv").write_text("\n".join(["tier\tcase", *rows]) + "\n")
    print(f"{len(list((root / 'node').iterdir()))} node cases, {left_out} left out")


if __name__ == "__main__":
    main()
