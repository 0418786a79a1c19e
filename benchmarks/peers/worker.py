"""A worker: a process that loads a model and runs it with one thread. Performs a step for each line
that it reads, and answers with one line.

    worker.py ashlar|onnxruntime MODEL RUNS
"""
import sys
import time

import numpy


def ashlar():
    from ashlar_runtime.ray import Predictor

    def load(model):
        predict = Predictor(model)  # the same class as in Ray's workers
        x = numpy.ones(predict.plan.inputs[0].shape, numpy.float32)
        return lambda: predict({"x": x})
    return load


def onnx_runtime():
    import onnxruntime

    def load(model):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        source = session.get_inputs()[0]
        x = numpy.ones(source.shape, numpy.float32)
        return lambda: session.run(None, {source.name: x})
    return load


def answer(line):
    print(line, flush=True)
    sys.stdin.readline()


def main(system, model, runs):
    load = {"ashlar": ashlar, "onnxruntime": onnx_runtime}[system]()
    answer("idle")
    run = load(model)
    run()
    answer("loaded")
    start = time.perf_counter()
    for _ in range(int(runs)):
        run()
    answer(time.perf_counter() - start)


if __name__ == "__main__":
    main(*sys.argv[1:])
