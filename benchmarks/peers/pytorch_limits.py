"""Prints the limits of the device, measured by PyTorch, as JSON: operations a second of a large
product by precision, bytes a second of a large copy, and the device's properties.
"""
import json

import torch


def seconds(call, runs=10):
    """Returns the median time."""
    for _ in range(3):
        call()
    times = []
    for _ in range(runs):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return sorted(times)[runs // 2]


def main():
    flops, size = {}, 8192
    for precision in ("fp32", "tf32", "fp16", "bf16"):
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        dtype = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
        a, b = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(2))
        flops[precision] = 2 * size ** 3 / seconds(lambda: torch.matmul(a, b))
    source = torch.randn(1 << 30, device="cuda")
    target = torch.empty_like(source)
    print(json.dumps({"flops": flops, "bytes": 2 * source.nbytes / seconds(lambda: target.copy_(source)),
                      "device": torch.cuda.get_device_name(), "cuda": torch.version.cuda,
                      "cudnn": torch.backends.cudnn.version()}))


if __name__ == "__main__":
    main()
