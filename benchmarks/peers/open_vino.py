"""OpenVINO on the CPU: open_vino.py MODEL.onnx THREADS INPUT.npy OUTPUT.npy; see bursts.py."""
import sys

import numpy
import openvino

import bursts


def main(model, threads, source, target):
    compiled = openvino.Core().compile_model(model, "CPU", {
        "INFERENCE_NUM_THREADS": int(threads), "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32"})
    request = compiled.create_infer_request()
    feed = [numpy.load(source)]
    bursts.serve_output(lambda: request.infer(feed, share_inputs=True, share_outputs=True)[0], target)


if __name__ == "__main__":
    main(*sys.argv[1:])
