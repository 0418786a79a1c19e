#!/usr/bin/env python3
"""Writes tests/data/models/streaming.onnx, a small model of streamed sound as exporters make them, and
the outputs of ONNX Runtime for 1000 frames, each with the states that the frame before left.

    pip install onnx onnxruntime
    tests/serialization/onnx/make_streaming.py tests/data/models
"""
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FRAMES, FRAME, CONTEXT, HIDDEN = 1000, 32, 8, 6
STATES = {"context_next": "context", "h_next": "h", "c_next": "c", "memory_next": "memory"}


def frames():
    """Returns the frames: a generator of integers, which the test repeats."""
    seed, values = 1, np.empty(FRAMES * FRAME, np.float32)
    for i in range(len(values)):
        seed = (seed * 1664525 + 1013904223) % 2**32
        values[i] = ((seed >> 24) - 128) / 128
    return values.reshape(FRAMES, 1, FRAME)


def value(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def build():
    random = np.random.default_rng(1)
    constants = {}

    def constant(name, array):
        constants[name] = numpy_helper.from_array(np.asarray(array), name)
        return name

    def weights(name, *shape, scale=0.7):
        return constant(name, (random.standard_normal(shape) * scale).astype(np.float32))

    node = helper.make_node
    scan = helper.make_graph(
        [node("Mul", ["state", "decay"], ["old"]), node("Tanh", ["row"], ["new"]), node("Add", ["old", "new"], ["sum"]),
         node("Identity", ["sum"], ["kept"])], "remember", [value("state", 1, HIDDEN), value("row", 1, HIDDEN)],
        [value("sum", 1, HIDDEN), value("kept", 1, HIDDEN)])
    loop = helper.make_graph(
        [node("Sigmoid", ["v"], ["gate"]), node("Mul", ["v", "gate"], ["v_next"]), node("Identity", ["go"], ["go_on"])], "refine",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         value("v", 1, HIDDEN)], [helper.make_tensor_value_info("go_on", TensorProto.BOOL, []), value("v_next", 1, HIDDEN)])
    constant("decay", np.float32(0.75))
    nodes = [
        node("Concat", ["context", "x"], ["joined"], axis=1),
        node("Slice", ["joined", constant("from", np.int64([-CONTEXT])), constant("to", np.int64([2**31])), constant("axis", np.int64([1]))],
             ["context_next"]),
        node("Unsqueeze", ["joined", constant("one", np.int64([1]))], ["framed"]),
        node("Conv", ["framed", weights("filter", 4, 1, 8), weights("bias", 4)], ["windows"], strides=[8]),
        node("Relu", ["windows"], ["features"]),
        node("Transpose", ["features"], ["sequence"], perm=[2, 0, 1]),
        node("LSTM", ["sequence", weights("w", 1, 4 * HIDDEN, 4), weights("r", 1, 4 * HIDDEN, HIDDEN), weights("b", 1, 8 * HIDDEN), "", "h", "c"],
             ["rows", "h_next", "c_next"], hidden_size=HIDDEN),
        node("Squeeze", ["rows", "one"], ["hidden"]),
        node("Scan", ["memory", "hidden"], ["memory_next", "remembered"], body=scan, num_scan_inputs=1),
        node("ReduceMax", ["remembered", constant("zero", np.int64([0]))], ["peak"], keepdims=0),
        node("Loop", [constant("trips", np.int64(3)), constant("always", np.bool_(True)), "peak"], ["refined"], body=loop),
        node("MatMul", ["refined", weights("head", HIDDEN, 1, scale=12)], ["logit"]),
        node("Sigmoid", ["logit"], ["speech"]),
    ]
    inputs = [value("x", 1, FRAME), value("context", 1, CONTEXT), value("h", 1, 1, HIDDEN), value("c", 1, 1, HIDDEN), value("memory", 1, HIDDEN)]
    outputs = [value("speech", 1, 1), value("context_next", 1, CONTEXT), value("h_next", 1, 1, HIDDEN), value("c_next", 1, 1, HIDDEN),
               value("memory_next", 1, HIDDEN)]
    graph = helper.make_graph(nodes, "streaming", inputs, outputs, list(constants.values()))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    return model


def main(folder):
    path = pathlib.Path(folder) / "streaming.onnx"
    onnx.save(build(), path)
    session = onnxruntime.InferenceSession(str(path))
    fed = {i.name: np.zeros(i.shape, np.float32) for i in session.get_inputs()}
    names, speech = [o.name for o in session.get_outputs()], []
    for frame in frames():
        fed["x"] = frame
        results = dict(zip(names, session.run(None, fed)))
        speech.append(results["speech"])
        fed.update({given: results[made] for made, given in STATES.items()})
    print(f"speech from {np.min(speech):.3f} to {np.max(speech):.3f}")
    np.savez_compressed(path.with_suffix(".npz"), speech=np.stack(speech), **{name: fed[name] for name in STATES.values()})


if __name__ == "__main__":
    main(*sys.argv[1:])
