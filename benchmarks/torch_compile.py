#!/usr/bin/env python3
"""Compiles the models and layers of export_models.py by ashlar_runtime.torch.compile, and compares them with eager mode.

    pip install torch torchvision onnx onnxscript          (and ashlar_runtime; transformers: bert_base, minilm_l6)
    benchmarks/torch_compile.py [NAME...] >> FILE           default: all layers, then all models

One line a model: the largest difference of an output relative to the largest element, the module's weights, the plan's
arena and packed weights, and the growth of resident memory by compiling and one run beside those two.
"""
import sys

import torch
from torch.utils import _pytree as pytree

import export_models
import ashlar_runtime.torch as ashlar


def resident():
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * 4096


def difference(got, expected):
    """Returns the largest difference, relative to the largest element; integers must be equal."""
    worst = 0.0
    for one, other in zip(pytree.tree_leaves(got), pytree.tree_leaves(expected)):
        if one.shape != other.shape or one.dtype != other.dtype:
            return float("inf")
        if other.is_floating_point():
            worst = max(worst, float((one - other).abs().max() / other.abs().max().clamp(min=1e-30)))
        elif not torch.equal(one, other):
            return float("inf")
    return worst


def row(name):
    module, inputs = export_models.build(name)
    weights = sum(tensor.untyped_storage().nbytes() for tensor in {id(t): t for t in module.state_dict().values()}.values())
    with torch.no_grad():
        expected = module(*inputs)
        before = resident()
        compiled = ashlar.compile(module, inputs)
        got = compiled(*inputs)
    growth = resident() - before
    memory = compiled.memory
    off = difference(got, expected)
    return f"| {name} | {off:.1e}{'' if off <= 1e-4 else ' WRONG'} | {weights:,} | {memory.arena:,} | {memory.weights:,} | {growth:,} |"


def main(names):
    print("| model | difference | weights | arena | packed weights | growth of RSS |\n|---|---:|---:|---:|---:|---:|", flush=True)
    for name in names or [*export_models.LAYERS, *export_models.MODELS]:
        try:
            print(row(name), flush=True)
        except Exception as error:  # of an export or a plan: the others go on
            text = str(error).strip().splitlines() or [""]
            print(f"| {name} | - | - | - | - | {type(error).__name__}: {text[0][:110]} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
