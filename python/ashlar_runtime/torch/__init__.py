"""PyTorch modules: compiled, trained, or only planned, without files.

    import ashlar_runtime.torch
    run = ashlar_runtime.torch.compile(module.eval(), (x,), budget="64MiB")
    y = run(x)                       # tensors in, tensors out
"""
from importlib.util import find_spec

for _name in ("torch", "onnx", "onnxscript"):
    if find_spec(_name) is None:
        raise ModuleNotFoundError(f"No module named '{_name}'; pip install 'ashlar-runtime[torch]' brings what this needs", name=_name)

from ._backend import backend
from ._compile import Compiled, compile
from ._plan import MemoryTable, plan
from ._train import TrainingStep

__all__ = ["Compiled", "MemoryTable", "TrainingStep", "backend", "compile", "plan"]
