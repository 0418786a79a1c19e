"""ONNX Runtime on the CPU.

    onnx_runtime.py bursts MODEL.onnx THREADS INPUT.npy OUTPUT.npy
    onnx_runtime.py cold MODEL.onnx THREADS INPUT.npy plain|write|read

bursts: see bursts.py. cold: imports it, loads the model and runs it once. Prints the milliseconds,
and the KiB by which the peak memory grew. The optimised model is written next to the model, or read
instead of it.
"""
import resource
import sys
import time

import numpy

import bursts


def load(model, threads, optimised="plain"):
    """Returns a function that runs the model on an array. Imports ONNX Runtime, which is part of a
    cold start.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(threads)
    options.inter_op_num_threads = 1
    if optimised == "write":
        options.log_severity_level = 3  # hides the warning that the file is for this machine
        options.optimized_model_filepath = model + ".opt.onnx"
    if optimised == "read":
        model += ".opt.onnx"
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    return lambda data: session.run(None, {name: data})[0]


def serve(model, threads, source, target):
    run, data = load(model, threads), numpy.load(source)
    bursts.serve_output(lambda: run(data), target)


def peak_kib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def start_cold(model, threads, source, optimised):
    data = numpy.load(source)
    before, start = peak_kib(), time.perf_counter()
    load(model, threads, optimised)(data)
    print((time.perf_counter() - start) * 1e3, peak_kib() - before)


if __name__ == "__main__":
    {"bursts": serve, "cold": start_cold}[sys.argv[1]](*sys.argv[2:])
