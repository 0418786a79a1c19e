"""PyTorch's ResNet-50 on a GPU: pytorch.py WAY BATCH PRECISION; see bursts.py.

WAY: eager, graph (a CUDA graph), folded (a CUDA graph with normalisation folded into the filters),
inductor (torch.compile with a CUDA graph), compile (torch.compile, all kernels timed), freeze (the
same, folded).
"""
import json
import sys

import torch
import torchvision
from torch.nn.utils.fusion import fuse_conv_bn_eval

import bursts

CAPTURED = ("graph", "folded")
MODES = {"inductor": "reduce-overhead", "compile": "max-autotune", "freeze": "max-autotune"}


def fold(module):
    """Folds a normalisation that follows a convolution, in the order of modules, into its filter
    and bias.
    """
    last = None
    for name, child in module.named_children():
        fold(child)
        if isinstance(child, torch.nn.BatchNorm2d) and isinstance(last, torch.nn.Conv2d):
            folded = fuse_conv_bn_eval(last, child)
            last.weight, last.bias = folded.weight, folded.bias
            setattr(module, name, torch.nn.Identity())
        last = child


def prepare(way, batch, precision):
    """Returns the model, compiled if WAY says so, and an image."""
    tf32 = precision == "tf32"
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.benchmark = True
    # PyTorch's default is 10. With 0 all proposals of cuDNN are compiled if possible, which takes
    # minutes.
    torch.backends.cudnn.benchmark_limit = 10
    dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
    torch.manual_seed(0)
    model = torchvision.models.resnet50().eval()
    if way == "folded":
        fold(model)
    model = model.cuda().to(dtype).to(memory_format=torch.channels_last)
    image = torch.randn(batch, 3, 224, 224, device="cuda", dtype=dtype).to(memory_format=torch.channels_last)
    if way == "freeze":
        from torch._inductor import config
        config.freezing = True
    if way in MODES:
        model = torch.compile(model, mode=MODES[way])
    return model, image


def captured(model, image):
    """Returns a function that replays the model's CUDA graph, called like the model."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(image)
    return lambda _: graph.replay()


def memory(way):
    if way in MODES:
        peak, how = torch.cuda.memory_reserved(), "memory_reserved after empty_cache: replays hold a pool of their own"
    else:
        peak, how = torch.cuda.max_memory_allocated(), "max_memory_allocated after reset, in three runs"
        if way in CAPTURED:
            how += " and the capture"
    return {"peak_bytes": peak, "how": how, "reserved_bytes": torch.cuda.max_memory_reserved()}


def main(way, batch, precision):
    bursts.await_turn()
    call, image = prepare(way, int(batch), precision)
    with (torch.no_grad() if way in MODES else torch.inference_mode()):
        for _ in range(5):
            call(image)
        torch.cuda.synchronize()
        # Frees the memory of choosing kernels before memory is measured.
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        if way in CAPTURED:
            call = captured(call, image)

        def run():
            call(image)
            torch.cuda.synchronize()

        for _ in range(3):
            run()
        bursts.serve(run, json.dumps(memory(way)))


if __name__ == "__main__":
    main(*sys.argv[1:])
