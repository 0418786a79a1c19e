"""The planner for ExecuTorch's memory planning.

    from executorch.exir import ExecutorchBackendConfig
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite
    from executorch.exir.passes import MemoryPlanningPass
    from ashlar_runtime.executorch import algorithm

    suite = MemoryPlanningAlgorithmSuite(algo_list=[algorithm])
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(memory_planning_algo=suite)))
"""
from __future__ import annotations

from typing import Any, Dict, List

from executorch.exir.memory_planning import MemoryAlgoResult, SpecAllocResult

from ._library import InvalidArgument
from ._planner import plan_memory


def algorithm(alignment: int, specs: Any, graph_module: Any, graph_signature: Any, extra_padding: int = 0) -> Any:
    """Place tensors by `plan_memory`, each memory (`mem_id`) by itself.

    Parameters
    ----------
    alignment, specs, graph_module, graph_signature, extra_padding
        As ExecuTorch's MemoryPlanningAlgorithmSuite passes them.

    Returns
    -------
    MemoryAlgoResult
    """
    del graph_signature
    specs = list(specs)  # an order that depends on nothing else, if the caller's does not
    memories: Dict[int, List[Any]] = {}
    result: Dict[Any, Any] = {}
    for spec in specs:
        spec.realign(alignment)
        if spec.storage_base is None:
            memories.setdefault(1 if spec.mem_id is None else spec.mem_id, []).append(spec)
    # Memory 0 is for constants. Submodules of control flow have the first bytes of each memory.
    reserved = list(getattr(graph_module, "input_mem_buffer_sizes", None) or [])
    sizes = [0] * max(2, *(memory + 1 for memory in memories), 2)
    for memory, placed in memories.items():
        begin = reserved[memory] if memory < len(reserved) else 0
        begin += -begin % alignment
        solution = plan_memory([spec.lifetime[0] for spec in placed], [spec.lifetime[1] + 1 for spec in placed],
                               [spec.allocated_memory for spec in placed], alignment=alignment)
        for spec, offset in zip(placed, solution.offsets):
            # Tensors that overlap must have one object; so each memory is one.
            result[spec] = SpecAllocResult(memory, 0, begin + int(offset))
        sizes[memory] = begin + solution.arena + extra_padding
    for spec in specs:
        result.setdefault(spec, _inside(spec, result))
    return MemoryAlgoResult({spec: result[spec] for spec in specs}, sizes)


def _inside(spec: Any, result: Dict[Any, Any]) -> Any:
    """Return the place of a tensor inside the storage of another one."""
    offset, base = 0, spec
    while base not in result:
        if base.storage_base is None:
            raise InvalidArgument("specs: a tensor lies in the storage of one that is not among them")
        offset, base = offset + base.storage_base_offset, base.storage_base
    return SpecAllocResult(result[base].mem_id, 0, result[base].mem_offset + offset)
