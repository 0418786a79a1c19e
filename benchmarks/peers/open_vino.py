"""OpenVINO on the CPU: open_vino.py f32|bf16|default MODEL.onnx THREADS INPUT.npy OUTPUT.npy; see
bursts.py.
"""
import sys

import numpy
import openvino

import bursts


def main(precision, model, threads, source, target):
    hints = {} if precision == "default" else {"INFERENCE_PRECISION_HINT": precision}
    compiled = openvino.Core().compile_model(
        model, "CPU", {"INFERENCE_NUM_THREADS": int(threads), "NUM_STREAMS": 1, **hints})
    request = compiled.create_infer_request()
    feed = [numpy.load(source)]
    bursts.serve_output(lambda: request.infer(feed, share_inputs=True, share_outputs=True)[0], target)


if __name__ == "__main__":
    main(*sys.argv[1:])
