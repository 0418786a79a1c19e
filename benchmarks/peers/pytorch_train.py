"""PyTorch's training step on the CPU: cross entropy, SGD with momentum 0.9.

    pytorch_train.py bursts MODEL BATCH THREADS
    pytorch_train.py memory MODEL BATCH THREADS

bursts: see bursts.py. memory: prints the peak bytes of its allocator in the third step, without the
bytes held before (weights, momentum, images), as the profiler counts them.
"""
import sys

import torch
import torchvision

import bursts


def prepare(model, batch):
    torch.manual_seed(0)
    net = getattr(torchvision.models, model)(weights=None).train()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    images = torch.randn(batch, 3, 224, 224)
    labels = torch.zeros(batch, dtype=torch.long)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(net(images), labels)
        loss.backward()
        optimizer.step()
        return loss.item()
    return optimizer, step


def peak_bytes(optimizer, step):
    for _ in range(2):
        step()
    optimizer.zero_grad(set_to_none=True)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        step()
    held = most = 0
    for event in sorted(profile.profiler.kineto_results.events(), key=lambda event: event.start_ns()):
        if event.name() == "[memory]":
            held += event.nbytes()
            most = max(most, held)
    return most


def main(mode, model, batch, threads):
    torch.set_num_threads(int(threads))
    optimizer, step = prepare(model, int(batch))
    if mode == "memory":
        print(peak_bytes(optimizer, step))
        return
    for _ in range(2):
        step()
    bursts.serve(step)


if __name__ == "__main__":
    main(*sys.argv[1:])
