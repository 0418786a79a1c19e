"""Runtimes that convert the model first: converted.py WAY MODEL.onnx THREADS INPUT.npy OUTPUT.npy;
see bursts.py.

WAY: mnn, mnn_f32 (MNN with its default precision, and with the highest), ncnn, ncnn_f32 (ncnn with
weights and arithmetic as it chooses them, and in f32), litert (LiteRT with XNNPACK), torch_compile
(PyTorch's compiler, default mode). Converted models are kept next to the model.
"""
import contextlib
import os
import pathlib
import subprocess
import sys

import numpy

import bursts


@contextlib.contextmanager
def quiet():
    """Keeps converters' words from standard output, which is for bursts."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def run_tool(*words):
    subprocess.run([str(word) for word in words], check=True, stdout=sys.stderr)


def tool(name):
    """Returns the path of a program that a package installed beside Python."""
    return pathlib.Path(sys.executable).parent / name


def mnn(model, threads, data, precision):
    import MNN

    target = model.with_suffix(".mnn")
    if not target.exists():
        run_tool(tool("mnnconvert"), "-f", "ONNX", "--modelFile", model, "--MNNModel", target, "--bizCode", "x")
    interpreter = MNN.Interpreter(str(target))
    session = interpreter.createSession({"numThread": threads, "backend": "CPU", "precision": precision})
    to, result = interpreter.getSessionInput(session), interpreter.getSessionOutput(session)
    shape = tuple(result.getShape())
    source = MNN.Tensor(data.shape, MNN.Halide_Type_Float, data, MNN.Tensor_DimensionType_Caffe)
    host = MNN.Tensor(shape, MNN.Halide_Type_Float, numpy.empty(shape, "float32"), MNN.Tensor_DimensionType_Caffe)

    def run():
        to.copyFrom(source)
        interpreter.runSession(session)
        result.copyToHostTensor(host)
        return host.getNumpyData()

    return run


def ncnn(model, threads, data, halves):
    import ncnn as runtime

    if len(data) > 1:
        sys.exit("ncnn runs one image at a time")
    name = "halves" if halves else "f32"
    parameters, weights = (model.with_suffix(f".ncnn-{name}.{part}") for part in ("param", "bin"))
    if not parameters.exists():
        import pnnx
        shape = ",".join(map(str, data.shape))
        program = pathlib.Path(pnnx.__file__).parent / "bin" / "pnnx"
        run_tool(program if program.exists() else tool("pnnx"), model, f"inputshape=[{shape}]", f"fp16={int(halves)}",
                 f"ncnnparam={parameters}", f"ncnnbin={weights}")
    net = runtime.Net()
    net.opt.num_threads = threads
    if not halves:
        for option in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage"):
            setattr(net.opt, option, False)
    net.load_param(str(parameters))
    net.load_model(str(weights))
    source, target = net.input_names()[0], net.output_names()[0]

    def run():
        with net.create_extractor() as extractor:
            extractor.input(source, runtime.Mat(data[0]))
            return numpy.array(extractor.extract(target)[1])[None]

    return run


def as_torch(model):
    """The model as a module. Reshapes to a matrix become flattening: onnx2torch would read their
    shape from a tensor, which torch.export refuses.
    """
    import onnx
    import onnx2torch

    model = onnx.load(model)
    ranks = {shape.name: shape.dims[0] for shape in model.graph.initializer if len(shape.dims) == 1}
    for node in model.graph.node:
        if node.op_type == "Reshape" and ranks.get(node.input[1]) == 2:
            node.CopyFrom(onnx.helper.make_node("Flatten", node.input[:1], node.output, name=node.name, axis=1))
    return onnx2torch.convert(model).eval()


def litert(model, threads, data):
    from ai_edge_litert.interpreter import Interpreter

    target = model.with_suffix(".tflite")
    if not target.exists():
        import litert_torch
        import torch
        litert_torch.convert(as_torch(model), (torch.from_numpy(data),)).export(str(target))
    interpreter = Interpreter(str(target), num_threads=threads)
    interpreter.allocate_tensors()
    source, result = (each()[0]["index"] for each in (interpreter.get_input_details, interpreter.get_output_details))

    def run():
        interpreter.set_tensor(source, data)
        interpreter.invoke()
        return interpreter.get_tensor(result)

    return run


def torch_compile(model, threads, data):
    import torch

    torch.set_num_threads(threads)
    compiled, image = torch.compile(as_torch(model)), torch.from_numpy(data)

    def run():
        with torch.inference_mode():
            return compiled(image).numpy()

    return run


WAYS = {
    "mnn": lambda *words: mnn(*words, "normal"),
    "mnn_f32": lambda *words: mnn(*words, "high"),
    "ncnn": lambda *words: ncnn(*words, True),
    "ncnn_f32": lambda *words: ncnn(*words, False),
    "litert": litert,
    "torch_compile": torch_compile,
}


def main(way, model, threads, source, target):
    with quiet():
        run = WAYS[way](pathlib.Path(model), int(threads), numpy.load(source))
        for _ in range(2):  # some compile, or choose kernels, in the first
            run()
    bursts.serve_output(run, target)


if __name__ == "__main__":
    main(*sys.argv[1:])
