#!/usr/bin/env python3
"""Memory and work of MLPerf Tiny's networks with TensorFlow Lite Micro and emx-onnx-cgen, beside `ashlar compile`.

usage: microcontroller_peers.py SHARED    (numpy, onnx, tflite-micro, emx-onnx-cgen from PyPI; see cross_test.py for compilers)
Prints two tables in Markdown:
- TFLM: the networks are written as .tflite, outputs are compared with the recorded ones of TFLM, and its recording
  allocator says the bytes of the arena and their parts. The wheel has pointers of 64 bits.
- emx-onnx-cgen: its C, temporaries on the stack, built with -Os for a Cortex-M7, counted under qemu.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/codegen"))
import cross_test  # noqa: E402

NETS = ["ad", "ic", "kws", "vww"]
INT8, INT32 = 9, 2  # TensorType of the schema
STACK = 3_500_000  # bytes, of the 4 MiB that the emulated board has


class Network:
    """Operators of a QDQ model on quantised tensors: (type, attributes, inputs, output, has a Relu)."""

    def __init__(self, path):
        graph = onnx.load(path).graph
        self.constants = {item.name: numpy_helper.to_array(item) for item in graph.initializer}
        self.input, self.output = graph.input[0].name, graph.output[0].name
        self.shapes = {graph.input[0].name: [d.dim_value for d in graph.input[0].type.tensor_type.shape.dim]}
        self.scales, self.operators = {}, []
        source, made = {}, {}  # tensors behind dequantised names; operators behind results in floats
        for node in graph.node:
            kind = node.op_type
            if kind == "DequantizeLinear":
                source[node.output[0]] = node.input[0]
                self.scales[node.input[0]] = [self.constants[name] for name in node.input[1:3]]
            elif kind == "Relu":
                made[node.output[0]] = (*made[node.input[0]][:3], True)
            elif kind == "QuantizeLinear":
                operator, attributes, inputs, relu = made[node.input[0]]
                self.scales[node.output[0]] = [self.constants[name] for name in node.input[1:3]]
                self.operators.append((operator, attributes, inputs, node.output[0], relu))
            elif kind == "Reshape":
                self.scales[node.output[0]] = self.scales[node.input[0]]
                self.operators.append((kind, {}, [node.input[0]], node.output[0], False))
            else:
                attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
                made[node.output[0]] = (kind, attributes, [source[name] for name in node.input], False)


def write_tflite(net, schema):
    """Returns the network as a .tflite file. Images are NHWC there."""
    import flatbuffers
    model, graph = schema.ModelT(), schema.SubGraphT()
    model.version, model.buffers, model.operatorCodes, model.subgraphs = 3, [schema.BufferT()], [], [graph]
    graph.tensors, graph.operators = [], []
    index, codes = {}, {}

    def add(name, shape, kind=INT8, values=None, axis=0):
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type, tensor.buffer = name.encode(), list(shape), kind, 0
        if values is not None:
            data = schema.BufferT()
            data.data = numpy.frombuffer(numpy.ascontiguousarray(values).tobytes(), dtype=numpy.uint8)
            model.buffers.append(data)
            tensor.buffer = len(model.buffers) - 1
        if name in net.scales:
            scale, zero = net.scales[name]
            tensor.quantization = schema.QuantizationParametersT()
            tensor.quantization.scale = numpy.atleast_1d(scale).astype("float32")
            tensor.quantization.zeroPoint = numpy.atleast_1d(zero).astype("int64")
            tensor.quantization.quantizedDimension = axis
        index[name] = len(graph.tensors)
        graph.tensors.append(tensor)

    def nhwc(shape):
        return [shape[0], shape[2], shape[3], shape[1]] if len(shape) == 4 else shape

    shapes = dict(net.shapes)
    add(net.input, nhwc(shapes[net.input]))
    for kind, attributes, inputs, output, relu in net.operators:
        operator = schema.OperatorT()
        shape, code, options = shapes[inputs[0]], None, None
        if kind in ("Conv", "AveragePool"):
            window, strides = attributes["kernel_shape"], attributes["strides"]
            pads = attributes.get("pads", [0, 0, 0, 0])
            out = [(shape[i + 2] + pads[i] + pads[i + 2] - window[i]) // strides[i] + 1 for i in range(2)]
        if kind == "Conv":
            weights = net.constants[inputs[1]]
            depthwise = attributes.get("group", 1) > 1
            code, name = (4, "DepthwiseConv2DOptions") if depthwise else (3, "Conv2DOptions")
            options = getattr(schema, name + "T")()
            options.padding = 0 if any(pads) else 1  # SAME, VALID
            options.strideH, options.strideW = strides
            if depthwise:
                options.depthMultiplier = 1
            values = weights.transpose(1, 2, 3, 0) if depthwise else weights.transpose(0, 2, 3, 1)
            add(inputs[1], values.shape, values=values, axis=3 if depthwise else 0)
            shapes[output] = [1, weights.shape[0], *out]
        elif kind == "Gemm":
            code, options = 9, schema.FullyConnectedOptionsT()
            add(inputs[1], net.constants[inputs[1]].shape, values=net.constants[inputs[1]])
            shapes[output] = [1, net.constants[inputs[1]].shape[0]]
        elif kind == "AveragePool":
            code, options = 1, schema.Pool2DOptionsT()
            options.padding, (options.strideH, options.strideW) = 1, strides
            options.filterHeight, options.filterWidth = window
            shapes[output] = [1, shape[1], *out]
        elif kind == "Add":
            code, options, shapes[output] = 0, schema.AddOptionsT(), shape
        elif kind == "Softmax":
            code, options, shapes[output] = 25, schema.SoftmaxOptionsT(), shape
            options.beta = 1.0
        elif kind == "Reshape":
            code, options = 22, schema.ReshapeOptionsT()
            shapes[output] = [1, int(numpy.prod(shape))]
            options.newShape = shapes[output]
        if len(inputs) == 3:
            add(inputs[2], net.constants[inputs[2]].shape, INT32, net.constants[inputs[2]])
        if relu:
            options.fusedActivationFunction = 1
        add(output, nhwc(shapes[output]))
        if code not in codes:
            codes[code] = len(model.operatorCodes)
            entry = schema.OperatorCodeT()
            entry.deprecatedBuiltinCode = entry.builtinCode = code
            entry.version = 3 if code in (3, 4) else 1
            model.operatorCodes.append(entry)
        operator.opcodeIndex = codes[code]
        operator.inputs, operator.outputs = [index[name] for name in inputs], [index[output]]
        operator.builtinOptionsType = getattr(schema.BuiltinOptions, type(options).__name__[:-1])
        operator.builtinOptions = options
        graph.operators.append(operator)
    graph.inputs, graph.outputs = [index[net.input]], [index[net.output]]
    builder = flatbuffers.Builder(1 << 20)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())


ALLOCATIONS = """
import sys, numpy
from tflite_micro.python.tflite_micro import runtime
interpreter = runtime.Interpreter.from_file(sys.argv[1], intrepreter_config=runtime.InterpreterConfig.kAllocationRecording)
data = numpy.load(sys.argv[2])
x = data["x"]
x = numpy.moveaxis(x, 2, -1) if x.ndim == 5 else x  # [runs, 1, channels, rows, columns]
wrong = 0
for image, expected in zip(x, data["y_tflm"]):
    interpreter.set_input(numpy.ascontiguousarray(image.reshape(interpreter.get_input_details(0)["shape"])), 0)
    interpreter.invoke()
    wrong += int((interpreter.get_output(0).reshape(-1) != expected.reshape(-1)).sum())
print("wrong", wrong, flush=True)
interpreter.print_allocations()
"""


def tflm_row(folder, shared, name):
    from tflite_micro.tensorflow.lite.micro.python import schema_py_generated as schema
    model = folder / f"{name}.tflite"
    model.write_bytes(write_tflite(Network(shared / f"data/int8/tiny/{name}.onnx"), schema))
    done = subprocess.run([sys.executable, "-c", ALLOCATIONS, model, shared / f"data/int8/tiny/{name}.npz"],
                          capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode != 0 or "wrong 0\n" not in said:
        raise RuntimeError(f"{name}: {said[-1500:]}")
    parts = dict(re.findall(r"Arena allocation (\w+) (\d+) bytes", said))
    return [int(parts[key]) for key in ("total", "head", "tail")]


HEAP = """
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static size_t live, most;
void* __real_malloc(size_t bytes);
void __real_free(void* block);
void* __wrap_malloc(size_t bytes) {
  void* const block = __real_malloc(bytes);
  live += malloc_usable_size(block);
  if (live > most) most = live;
  return block;
}
void __wrap_free(void* block) {
  live -= malloc_usable_size(block);
  __real_free(block);
}
void net(const void* x, void* y);
int main(void) {
  net(calloc(1, 1 << 20), calloc(1, 1 << 20));
  printf("heap %lu\\n", (unsigned long)most);
}
"""


def emx_heap(folder, model):
    """Returns the most bytes of the heap at once, with temporaries there, as by default; on this machine."""
    cross_test.run([pathlib.Path(sys.executable).parent / "emx-onnx-cgen", "compile", model, folder / "heap.c", "--model-name",
                    "net", "--large-weight-threshold", "0"])
    (folder / "heap_main.c").write_text(HEAP)
    cross_test.run(["cc", "-O1", "-w", folder / "heap.c", folder / "heap_main.c", "-Wl,--wrap=malloc,--wrap=free", "-o",
                    folder / "heap", "-lm"])
    return cross_test.number_after("heap", cross_test.run([folder / "heap"]))


def emx_row(folder, shared, name):
    """Returns bytes of heap, of the stack without a heap, of static variables and of code, and instructions of a run on a
    Cortex-M7."""
    target = next(target for target in cross_test.TARGETS if target.name == "Cortex-M7")
    folder = folder / name
    folder.mkdir()
    heap = emx_heap(folder, shared / f"data/int8/tiny/{name}.onnx")
    cross_test.run([pathlib.Path(sys.executable).parent / "emx-onnx-cgen", "compile", shared / f"data/int8/tiny/{name}.onnx",
                    folder / "net.c", "--model-name", "net", "--large-temp-threshold", "0", "--large-weight-threshold", "0"])
    source = (folder / "net.c").read_text()
    shapes = re.search(r"^void net\(.*?\{", source, re.M | re.S).group(0)
    sizes = [int(numpy.prod([int(n) for n in re.findall(r"\d+", dims)]))
             for dims in re.findall(r"int8_t \w+((?:\[(?:restrict )?\d+\])+)", shapes)]
    (folder / "main.c").write_text(f"""
#include <stdint.h>
#include "host.h"
void net(const void* x, void* y);
static int8_t x[{sizes[0]}], y[{sizes[1]}];
int main(void) {{
  char text[24] = "";
  int at = 23;
  uint64_t count = host_instructions();
  net(x, y);
  for (count = host_instructions() - count; count > 0; count /= 10) text[--at] = (char)('0' + count % 10);
  host_print("instructions ");
  host_print(text + at);
  host_print("\\n");
  return 0;
}}
""")
    script = (cross_test.FIRMWARE / "memory.ld").read_text()
    (folder / "memory.ld").write_text(script.replace("65536", str(STACK)))
    gcc = target.tools + "gcc"
    for source in ["net", "main"]:
        cross_test.run([gcc, *target.flags, "-std=gnu11", "-Os", "-fstack-usage", "-ffunction-sections", "-fdata-sections", "-I",
                        cross_test.FIRMWARE, "-c", folder / f"{source}.c", "-o", folder / f"{source}.o"])
    cross_test.run([gcc, *target.flags, "-nostartfiles", "-Wl,--gc-sections", f"-Wl,--defsym=CODE={target.code}",
                    f"-Wl,--defsym=RAM={target.ram}", f"-Wl,--defsym=WEIGHTS={target.weights}", "-T", folder / "memory.ld",
                    "-o", folder / "net.elf", folder / "net.o", folder / "main.o",
                    *cross_test.compile_firmware(target, folder)[:1], "-lm", "-lc", "-lnosys"])
    frames = {line.split()[0].split(":")[-1]: int(line.split()[-2])
              for line in (folder / "net.su").read_text().splitlines()}
    stack = frames.pop("net") + max(frames.values(), default=0)
    said = cross_test.run([target.tools + "size", "-A", folder / "net.o"])
    parts = {kind: sum(int(line.split()[1]) for line in said.splitlines() if re.match(rf"\.{kind}", line))
             for kind in ("text", "data", "bss")}
    fits = stack < STACK
    return [heap, stack, parts["data"] + parts["bss"], parts["text"],
            cross_test.number_after("instructions", cross_test.emulate(target, folder / "net.elf")) if fits else None]


def main(shared):
    with tempfile.TemporaryDirectory() as temporary:
        for title, row in [("TFLM, bytes of the arena | tensors and workspace | persistent", tflm_row),
                           ("emx-onnx-cgen, bytes of heap | of stack instead | static | code | instructions", emx_row)]:
            print(f"\n| network | {title} |\n|---|" + "---:|" * (title.count("|") + 1))
            for name in NETS:
                try:
                    values = row(pathlib.Path(temporary), shared, name)
                    print(f"| {name} | " + " | ".join("no room" if value is None else f"{value:,}" for value in values) + " |", flush=True)
                except (RuntimeError, OSError, subprocess.TimeoutExpired) as error:
                    print(f"{name}: {str(error)[-1500:]}", flush=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
