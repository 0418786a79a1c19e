"""PyTorch modules: compiled, trained, or only planned, without files.

    import ashlar_runtime.torch
    run = ashlar_runtime.torch.compile(module.eval(), (x,), budget="64MiB")
    y = run(x)                       # tensors in, tensors out
"""
try:
    import onnx as _onnx  # noqa: F401
    import onnxscript as _onnxscript  # noqa: F401
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(f"{missing}; pip install 'ashlar-runtime[torch]' brings what this needs", name=missing.name) from missing
from ._backend import backend
from ._compile import Compiled, compile
from ._plan import MemoryTable, plan
from ._train import TrainingStep

__all__ = ["Compiled", "MemoryTable", "TrainingStep", "backend", "compile", "plan"]
