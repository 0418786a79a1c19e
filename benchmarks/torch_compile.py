#!/usr/bin/env python3
"""Compiles the models and layers of export_models.py by ashlar_runtime.torch.compile, and compares them with eager mode.

    pip install torch torchvision onnx onnxscript          (and ashlar_runtime; transformers: bert_base, minilm_l6)
    benchmarks/torch_compile.py [NAME...] >> FILE           default: all layers, then 41 models

One line a model, each in a process of its own: the largest difference of an output relative to the largest element, the
module's weights, the plan's arena and packed weights, and resident memory beside that before compiling: the highest
while compiling, after it, and once the module is gone. A small module is compiled before, so PyTorch's own code counts
in none of these.
"""
import ctypes
import gc
import subprocess
import sys

import torch
from torch.utils import _pytree as pytree

import export_models
import ashlar_runtime.torch as ashlar

CLASSIFIERS = ("alexnet convnext_tiny densenet121 efficientnet_b0 efficientnet_b1 efficientnet_v2_s googlenet inception_v3 maxvit_t mnasnet0_5 "
               "mnasnet1_0 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_400mf regnet_y_400mf resnet18 resnet50 "
               "resnext50_32x4d shufflenet_v2_x0_5 shufflenet_v2_x1_0 squeezenet1_0 squeezenet1_1 swin_t swin_v2_t vgg11 vgg16_bn vit_b_16 "
               "wide_resnet50_2").split()
ONE = "--one"


def resident(key):
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


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
    ashlar.compile(torch.nn.Linear(4, 4).eval(), (torch.ones(1, 4),))
    module, inputs = export_models.build(name)
    weights = sum(tensor.untyped_storage().nbytes() for tensor in {id(t): t for t in module.state_dict().values()}.values())
    before = resident("VmRSS")
    with open("/proc/self/clear_refs", "w", encoding="ascii") as peak:
        peak.write("5")
    compiled = ashlar.compile(module, inputs)
    grown = [resident(key) - before for key in ("VmHWM", "VmRSS")]
    with torch.no_grad():
        expected = module(*inputs)
        off = difference(compiled(*inputs), expected)
    del module, expected
    grown.append(resident("VmRSS") - before)
    cells = [weights, compiled.memory.arena, compiled.memory.weights, *grown]
    return f"| {name} | {off:.1e}{'' if off <= 1e-4 else ' WRONG'} | {' | '.join(format(cell, ',') for cell in cells)} |"


def main(names):
    if names[:1] == [ONE]:
        try:
            print(row(names[1]))
        except Exception as error:  # of an export or a plan: the others go on
            text = str(error).strip().splitlines() or [""]
            print(f"| {names[1]} | {type(error).__name__}: {text[0][:150]} |")
        return
    print("| model | difference | weights | arena | packed weights | highest | after | without the module |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for name in names or [*export_models.LAYERS, *export_models.MODELS, *CLASSIFIERS]:
        done = subprocess.run([sys.executable, __file__, ONE, name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
        print(done.stdout.strip().splitlines()[-1] if done.stdout.strip() else f"| {name} | ended by {done.returncode} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
