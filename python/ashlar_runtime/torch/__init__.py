"""PyTorch modules: compiled, trained, or only planned, without files.

    import ashlar_runtime.torch
    run = ashlar_runtime.torch.compile(module.eval(), (x,), budget="64MiB")
    y = run(x)                       # tensors in, tensors out
"""
from ._backend import backend
from ._compile import Compiled, compile
from ._plan import MemoryTable, plan
from ._train import TrainingStep

__all__ = ["Compiled", "MemoryTable", "TrainingStep", "backend", "compile", "plan"]
