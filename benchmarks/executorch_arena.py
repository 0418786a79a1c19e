#!/usr/bin/env python3
"""Plans torchvision's models in ExecuTorch, by its greedy algorithm and by ours, and runs both programs.

    pip install executorch torchvision          (and ashlar_runtime)
    benchmarks/executorch_arena.py [--image N] [--models A,B,...] [--quantized] >> FILE

One line a model: bytes of both arenas, the lower bound of ours (with the bytes that ExecuTorch adds behind each memory
for XNNPACK, whose kernels read beyond tensors), milliseconds of processor time of our algorithm, and whether the
outputs of both programs are equal, bit for bit, in ExecuTorch's own runtime. Without --quantized the operators are
ExecuTorch's portable ones; with it, a model is quantised for XNNPACK (PT2E, symmetric) with one calibration run, and
XNNPACK runs the parts that it can.
"""
import argparse
import time

import torch
import torchvision
from executorch.exir import ExecutorchBackendConfig, to_edge, to_edge_transform_and_lower
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime

import ashlar_runtime.executorch as ours

MODELS = ("alexnet squeezenet1_0 squeezenet1_1 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large mnasnet0_5 mnasnet0_75 mnasnet1_0 "
          "shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5 resnet18 resnet34 resnet50 resnext50_32x4d wide_resnet50_2 googlenet "
          "regnet_y_400mf regnet_x_400mf regnet_y_800mf efficientnet_b0 efficientnet_b1 densenet121 vgg11 vgg16 convnext_tiny "
          "mnasnet1_3 shufflenet_v2_x2_0 resnet101").split()


class Timed:
    """Our algorithm; adds up its time and lower bounds."""

    def __init__(self):
        self.__name__, self.seconds, self.bound, self.padding = "ashlar", 0.0, 0, 0
        self.plan = ours.plan_memory

    def __call__(self, alignment, specs, graph_module, graph_signature, extra_padding=0):
        self.padding = extra_padding

        def plan(*given, **options):
            solution = self.plan(*given, **options)
            self.bound += solution.lower_bound + self.padding
            return solution
        begin, ours.plan_memory = time.process_time(), plan
        try:
            return ours.algorithm(alignment, specs, graph_module, graph_signature, extra_padding)
        finally:
            self.seconds, ours.plan_memory = time.process_time() - begin, self.plan


def quantised(module, x):
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    quantizer = XNNPACKQuantizer()
    quantizer.set_global(get_symmetric_quantization_config())
    prepared = prepare_pt2e(torch.export.export(module, (x,)).module(), quantizer)
    prepared(x)
    return convert_pt2e(prepared)


def row(name, image, quantize):
    torch.manual_seed(0)
    options = {"weights_backbone": None} if "inception" in name else {}
    module = torchvision.models.get_model(name, weights=None, **options).eval()
    x = torch.randn(1, 3, image, image)
    outputs, arenas, timed = [], [], Timed()
    exported = torch.export.export(quantised(module, x) if quantize else module, (x,))
    for algorithm in (greedy, timed):
        if quantize:
            from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
            edge = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
        else:
            edge = to_edge(exported)
        suite = MemoryPlanningAlgorithmSuite(algo_list=[algorithm])
        program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(memory_planning_algo=suite)))
        arenas.append(program.executorch_program.execution_plan[0].non_const_buffer_sizes[1])
        outputs.append(Runtime.get().load_program(program.buffer).load_method("forward").execute([x])[0].clone())
    equal = torch.equal(*outputs)
    return (f"| {name} | {arenas[0]:,} | {arenas[1]:,} | {timed.bound:,} | {arenas[0] / arenas[1]:.3f} | {timed.seconds * 1e3:.1f} | "
            f"{'equal' if equal else 'DIFFERENT'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--image", type=int, default=64)
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--quantized", action="store_true")
    given = parser.parse_args()
    print("| model | greedy | ours | lower bound | greedy / ours | ms | outputs |\n|---|---:|---:|---:|---:|---:|---|", flush=True)
    for name in given.models.split(","):
        try:
            print(row(name, given.image, given.quantized), flush=True)
        except Exception as error:  # of ExecuTorch's export or runtime: the others go on
            print(f"| {name} | - | - | - | - | - | {type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''} |", flush=True)


if __name__ == "__main__":
    main()
