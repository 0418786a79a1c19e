#!/usr/bin/env python3
"""Trains models of export_models.py by ashlar_runtime.torch.TrainingStep and by eager PyTorch, 20 steps each.

    pip install torch torchvision onnx onnxscript          (and ashlar_runtime)
    benchmarks/torch_training.py [NAME...] [--steps N] [--threads N] >> FILE

One line a model and optimizer. Free runs: the first and the last loss of eager mode, and the largest difference of a
loss from eager mode: ours, and double precision's (so much comes from rounding alone). From the
same state: before each step, ours and double precision take over eager mode's parameters, statistics and moments; the
largest difference of our loss from double precision's, the largest of the moment of the gradients (momentum, or Adam's
mean; the norm over all parameters of the difference, relative to the norm of the moment), and the same of the change
of the parameters, each with eager mode's own difference from double precision beside it. Then the arena of a step.
Images are of 64 x 64; dropout is off.
"""
import argparse
import copy
import os
import tempfile

import torch
from torch import nn

import export_models
import ashlar_runtime.torch as ashlar

MODELS = ["resnet18", "mobilenet_v2", "shufflenet_v2_x0_5", "squeezenet1_1", "regnet_x_400mf", "densenet121"]
OPTIMIZERS = {"sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9, weight_decay=1e-4),
              "adam": lambda parameters: torch.optim.Adam(parameters, lr=1e-4)}
MOMENTS = {".momentum": "momentum_buffer", ".adam_mean": "exp_avg", ".adam_square": "exp_avg_sq"}  # in ours and in PyTorch
BATCH, IMAGE, CLASSES = 8, 64, 1000


def module_of(name):
    module, _ = export_models.build(name)
    for part in module.modules():
        if isinstance(part, nn.modules.dropout._DropoutNd):
            part.p = 0.0
    return module.train()


def eager_step(module, optimizer, x, target):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(module(x.to(next(module.parameters()).dtype)), target)
    loss.backward()
    optimizer.step()
    return loss.item()


def take_over(module, optimizer, step, double, double_optimizer):
    """Copies parameters, statistics and moments of eager mode into our step and into double precision."""
    double.load_state_dict(module.state_dict())
    double_optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    step.module.load_state_dict(module.state_dict())
    step.copy_from_module()
    for name, parameter in module.named_parameters():
        state = step._names[name]
        for end, key in MOMENTS.items():
            if state + end in step.session.states and key in optimizer.state.get(parameter, {}):
                shape = step.session.states[state + end].shape
                step.session.write(state + end, optimizer.state[parameter][key].numpy().reshape(shape))


def moments(module, optimizer):
    """Returns the moment of the gradients of each parameter, in double precision."""
    key = "momentum_buffer" if isinstance(optimizer, torch.optim.SGD) else "exp_avg"
    return [optimizer.state[parameter][key].double().flatten() for parameter in module.parameters()]


def our_moments(step, module):
    end = next(end for end in (".momentum", ".adam_mean") if step._names[next(iter(step._names))] + end in step.session.states)
    return [torch.from_numpy(step.session.read(step._names[name] + end)).double().flatten() for name, _ in module.named_parameters()]


def relative(got, wanted):
    got, wanted = torch.cat(got), torch.cat(wanted)
    return float((got - wanted).norm() / wanted.norm())


def from_same_state(step, module, make, batches):
    """Returns the largest differences from double precision, of ours and of eager mode: loss, moment, change."""
    eager, double = copy.deepcopy(module), copy.deepcopy(module).double()
    optimizer, double_optimizer = make(eager.parameters()), make(double.parameters())
    worst = [0.0] * 6
    for batch in batches:
        take_over(eager, optimizer, step, double, double_optimizer)
        before = [parameter.detach().double().flatten() for parameter in eager.parameters()]
        losses = [step(*batch), eager_step(eager, optimizer, *batch), eager_step(double, double_optimizer, *batch)]
        step.copy_to_module()
        changes = [[one.detach().double().flatten() - old for one, old in zip(trained.parameters(), before)]
                   for trained in (step.module, eager, double)]
        means = [our_moments(step, module), moments(eager, optimizer), moments(double, double_optimizer)]
        seen = [abs(loss - losses[2]) for loss in losses[:2]] + [relative(mean, means[2]) for mean in means[:2]]
        seen += [relative(change, changes[2]) for change in changes[:2]]
        worst = list(map(max, worst, seen))
    return worst


def row(name, optimizer, steps, threads):
    module, make = module_of(name), OPTIMIZERS[optimizer]
    torch.manual_seed(1)
    batches = [(torch.randn(BATCH, 3, IMAGE, IMAGE), torch.randint(CLASSES, (BATCH,))) for _ in range(steps)]
    eager, double = copy.deepcopy(module), copy.deepcopy(module).double()
    trained = copy.deepcopy(module)
    step = ashlar.TrainingStep(trained, nn.CrossEntropyLoss(), make(trained.parameters()), x=batches[0][0], threads=threads)
    with tempfile.TemporaryDirectory() as folder:
        begin = os.path.join(folder, "begin.ash")
        step.session.checkpoint(begin)
        ours = [step(*batch) for batch in batches]
        step.session.resume(begin)
    same = from_same_state(step, module, make, batches)
    of_eager, of_double = [[eager_step(one, one_optimizer, *batch) for batch in batches]
                           for one, one_optimizer in ((eager, make(eager.parameters())), (double, make(double.parameters())))]
    off = [max(abs(a - b) for a, b in zip(of_eager, others)) for others in (ours, of_double)]
    cells = [f"{loss:.4f}" for loss in (of_eager[0], of_eager[-1])] + [f"{one:.1e}" for one in off + same]
    return f"| {name} | {optimizer} | {' | '.join(cells)} | {step.memory.arena:,} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=MODELS)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--threads", type=int, default=1)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    print("| model | optimizer | first loss | last loss | loss, free | eager, free | loss | eager | moment | eager | change | eager | arena |")
    print("|---|---|" + "---:|" * 11, flush=True)
    for name in given.names:
        for optimizer in OPTIMIZERS:
            try:
                print(row(name, optimizer, given.steps, given.threads), flush=True)
            except Exception as error:  # of an export or a plan: the others go on
                print(f"| {name} | {optimizer} | {type(error).__name__}: {str(error).strip()[:150]} |", flush=True)


if __name__ == "__main__":
    main()
