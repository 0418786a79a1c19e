#!/usr/bin/env python3
"""Trains models of export_models.py by ashlar_runtime.torch.TrainingStep and by eager PyTorch: the losses of 20 steps.

    pip install torch torchvision onnx onnxscript          (and ashlar_runtime)
    benchmarks/torch_training.py [NAME...] [--steps N] >> FILE

One line a model and optimizer: the first and the last loss of eager mode, the largest difference of a loss from eager
mode, the largest difference of a parameter after copy_to_module relative to the largest of its tensor, both for eager
mode in double precision (so much comes from rounding alone), and the arena of a step. Images are of 64 x 64; dropout
is off.
"""
import argparse
import copy

import torch
from torch import nn

import export_models
import ashlar_runtime.torch as ashlar

MODELS = ["resnet18", "mobilenet_v2", "shufflenet_v2_x0_5", "squeezenet1_1", "regnet_x_400mf", "densenet121"]
OPTIMIZERS = {"sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=1e-4),
              "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-4)}
BATCH, IMAGE, CLASSES = 8, 64, 1000


def module_of(name):
    module, _ = export_models.build(name)
    for part in module.modules():
        if isinstance(part, nn.modules.dropout._DropoutNd):
            part.p = 0.0
    return module.train()


def eager_losses(module, make, batches):
    optimizer, losses = make(module.parameters()), []
    dtype = next(module.parameters()).dtype
    for x, target in batches:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(module(x.to(dtype)), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def row(name, optimizer, steps):
    module, make = module_of(name), OPTIMIZERS[optimizer]
    torch.manual_seed(1)
    batches = [(torch.randn(BATCH, 3, IMAGE, IMAGE), torch.randint(CLASSES, (BATCH,))) for _ in range(steps)]
    eager, double = copy.deepcopy(module), copy.deepcopy(module).double()
    step = ashlar.TrainingStep(module, nn.CrossEntropyLoss(), make(module.parameters()))
    ours = [step(*batch) for batch in batches]
    step.copy_to_module()
    losses, exact = eager_losses(eager, make, batches), eager_losses(double, make, batches)
    off = [max(abs(a - b) for a, b in zip(losses, others)) for others in (ours, exact)]
    moved = [max(float((a - b).abs().max() / b.abs().max().clamp(min=1e-30))
                 for a, b in zip(other.parameters(), eager.parameters())) for other in (module, double)]
    return (f"| {name} | {optimizer} | {losses[0]:.4f} | {losses[-1]:.4f} | {off[0]:.1e} | {moved[0]:.1e} | {off[1]:.1e} | "
            f"{moved[1]:.1e} | {step.memory.arena:,} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=MODELS)
    parser.add_argument("--steps", type=int, default=20)
    given = parser.parse_args()
    print("| model | optimizer | first loss | last loss | difference | parameters | double's | its parameters | arena |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for name in given.names:
        for optimizer in OPTIMIZERS:
            try:
                print(row(name, optimizer, given.steps), flush=True)
            except Exception as error:  # of an export or a plan: the others go on
                print(f"| {name} | {optimizer} | {type(error).__name__}: {str(error).strip()[:150]} |", flush=True)


if __name__ == "__main__":
    main()
