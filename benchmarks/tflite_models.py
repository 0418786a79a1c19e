#!/usr/bin/env python3
"""Writes TensorFlow Lite models with random weights: single operators and small networks, in floats
and in 8 bits.

    pip install ai-edge-litert numpy
    benchmarks/tflite_models.py FOLDER

The schema's Python classes are LiteRT's own. Scales of 8 bits are chosen so that values fill their
range: each tensor is given its range by a run of the same network in floats.
"""
import pathlib
import sys

import flatbuffers
import numpy
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter, OpResolverType

TYPES = {"float32": schema.TensorType.FLOAT32, "float16": schema.TensorType.FLOAT16, "int8": schema.TensorType.INT8,
         "uint8": schema.TensorType.UINT8, "int32": schema.TensorType.INT32, "int64": schema.TensorType.INT64,
         "bool": schema.TensorType.BOOL}
ACTIVATIONS = {None: 0, "relu": 1, "relu_n1_to_1": 2, "relu6": 3, "tanh": 4}
OPERATORS = {name: value for name, value in vars(schema.BuiltinOperator).items() if isinstance(value, int)}
KINDS = {name: value for name, value in vars(schema.BuiltinOptions).items() if isinstance(value, int)}


def numpy_type(dtype):
    return numpy.dtype(dtype)


class Builder:
    """One graph. Tensors are numbers; `value` of a tensor makes it a constant."""

    def __init__(self):
        self.model = schema.ModelT()
        self.model.version, self.model.description = 3, "random weights"
        self.model.buffers = [schema.BufferT()]
        self.model.operatorCodes = []
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators, self.graph.inputs, self.graph.outputs = [], [], [], []
        self.model.subgraphs = [self.graph]

    def tensor(self, name, shape, dtype="float32", value=None, scale=None, zero=0, axis=0):
        tensor = schema.TensorT()
        tensor.name, tensor.shape, tensor.type = name, list(shape), TYPES[dtype]
        tensor.buffer = 0
        if value is not None:
            buffer = schema.BufferT()
            buffer.data = numpy.frombuffer(numpy.ascontiguousarray(value, numpy_type(dtype)).tobytes(), numpy.uint8)
            self.model.buffers.append(buffer)
            tensor.buffer = len(self.model.buffers) - 1
        if scale is not None:
            quantization = schema.QuantizationParametersT()
            scales = numpy.atleast_1d(numpy.asarray(scale, numpy.float32))
            quantization.scale = scales
            quantization.zeroPoint = numpy.full(scales.shape, zero, numpy.int64)
            quantization.quantizedDimension = axis
            tensor.quantization = quantization
        self.graph.tensors.append(tensor)
        return len(self.graph.tensors) - 1

    def constant(self, value, dtype="int32"):
        value = numpy.asarray(value)
        return self.tensor(f"constant{len(self.graph.tensors)}", value.shape, dtype, value)

    def operator(self, code, inputs, outputs, kind=None, **options):
        number = OPERATORS[code]
        codes = [c.builtinCode for c in self.model.operatorCodes]
        if number not in codes:
            added = schema.OperatorCodeT()
            added.builtinCode, added.deprecatedBuiltinCode, added.version = number, min(number, 127), 1
            self.model.operatorCodes.append(added)
            codes.append(number)
        operator = schema.OperatorT()
        operator.opcodeIndex, operator.inputs, operator.outputs = codes.index(number), list(inputs), list(outputs)
        if kind is not None:
            operator.builtinOptionsType = KINDS[kind]
            operator.builtinOptions = getattr(schema, kind + "T")()
            for name, value in options.items():
                setattr(operator.builtinOptions, name, value)
        self.graph.operators.append(operator)

    def bytes(self, inputs, outputs):
        self.graph.inputs, self.graph.outputs = list(inputs), list(outputs)
        builder = flatbuffers.Builder(1 << 20)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())


class Network:
    """A network described once: as floats, or as 8 bits with the ranges of a run in floats."""

    def __init__(self, describe, seed=0, ranges=None, dtype="int8"):
        self.random = numpy.random.default_rng(seed)
        self.builder, self.ranges, self.dtype = Builder(), ranges, dtype
        self.inputs, self.names = [], 0
        self.outputs = describe(self)

    def quantised(self):
        return self.ranges is not None

    def type_of(self, name):
        """Returns dtype, scale and zero point of a var."""
        if not self.quantised():
            return {"dtype": "float32"}
        low, high = self.ranges[name]
        low, high = min(low, 0.0), max(high, 1e-3)
        scale = numpy.float32((high - low) / 255)
        least = -128 if self.dtype == "int8" else 0
        return {"dtype": self.dtype, "scale": scale, "zero": int(numpy.clip(round(least - low / scale), least, least + 255))}

    def var(self, name, shape, **given):
        return self.builder.tensor(name, shape, **(given or self.type_of(name)))

    def shape(self, x):
        return list(self.builder.graph.tensors[x].shape)

    def name(self, kind):
        self.names += 1  # equal in floats and in 8 bits, which have more operators
        return f"{kind}_{self.names}"

    def scale(self, x):
        return self.builder.graph.tensors[x].quantization.scale[0]

    def input(self, name, shape):
        x = self.var(name, shape)
        self.inputs.append(x)
        return x

    def weights(self, name, shape, channels, fan_in, values=None):
        values = self.random.standard_normal(shape) * numpy.sqrt(2 / fan_in) if values is None else values
        values *= self.random.uniform(0.5, 1.5, shape[channels]).reshape([-1 if i == channels else 1 for i in range(len(shape))])
        if not self.quantised():
            return self.builder.tensor(name, shape, "float32", values)
        others = tuple(i for i in range(len(shape)) if i != channels)
        scale = (abs(values).max(axis=others) / 127).astype(numpy.float32)
        along = scale.reshape([-1 if i == channels else 1 for i in range(len(shape))])
        integers = numpy.clip(numpy.rint(values / along), -127, 127)
        return self.builder.tensor(name, shape, "int8", integers, scale, 0, channels)

    def bias(self, name, count, x, weights):
        values = self.random.standard_normal(count) * 0.1
        if not self.quantised():
            return self.builder.tensor(name, [count], "float32", values)
        scale = self.scale(x) * numpy.asarray(self.builder.graph.tensors[weights].quantization.scale)
        return self.builder.tensor(name, [count], "int32", numpy.rint(values / scale), scale)

    def conv(self, x, channels, kernel=3, stride=1, activation="relu", padding="SAME", dilation=1, depthwise=False):
        n, h, w, c = self.shape(x)
        kernel = (kernel, kernel) if isinstance(kernel, int) else kernel
        stride = (stride, stride) if isinstance(stride, int) else stride
        outputs = c * channels if depthwise else channels
        shape = [1, *kernel, outputs] if depthwise else [outputs, *kernel, c]
        name = self.name("depthwise" if depthwise else "conv")
        weights = self.weights(name + "/w", shape, 3 if depthwise else 0, kernel[0] * kernel[1] * (1 if depthwise else c))
        bias = self.bias(name + "/b", outputs, x, weights)

        def size(length, k, s):
            extent = dilation * (k - 1) + 1
            return -(-length // s) if padding == "SAME" else (length - extent) // s + 1

        y = self.var(name, [n, size(h, kernel[0], stride[0]), size(w, kernel[1], stride[1]), outputs])
        options = {"padding": 0 if padding == "SAME" else 1, "strideH": stride[0], "strideW": stride[1],
                   "dilationHFactor": dilation, "dilationWFactor": dilation,
                   "fusedActivationFunction": ACTIVATIONS[activation]}
        if depthwise:
            options["depthMultiplier"] = channels
        self.builder.operator("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", [x, weights, bias], [y],
                              "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions", **options)
        return y

    def depthwise(self, x, kernel=3, stride=1, activation="relu", multiplier=1, **options):
        return self.conv(x, multiplier, kernel, stride, activation, depthwise=True, **options)

    def transpose_conv(self, x, channels, kernel=3, stride=2, padding="SAME"):
        n, h, w, c = self.shape(x)
        name = self.name("transposed")
        shape = [n, h * stride, w * stride, channels] if padding == "SAME" else [
            n, (h - 1) * stride + kernel, (w - 1) * stride + kernel, channels]
        weights = self.weights(name + "/w", [channels, kernel, kernel, c], 0, kernel * kernel * c)
        bias = self.bias(name + "/b", channels, x, weights)
        y = self.var(name, shape)
        self.builder.operator("TRANSPOSE_CONV", [self.builder.constant(shape), weights, x, bias], [y],
                              "TransposeConvOptions", padding=0 if padding == "SAME" else 1, strideH=stride, strideW=stride)
        return y

    def dense(self, x, outputs, activation=None, keep=False):
        shape = self.shape(x)
        depth = shape[-1]
        name = self.name("dense")
        weights = self.weights(name + "/w", [outputs, depth], 0, depth)
        bias = self.bias(name + "/b", outputs, x, weights)
        y = self.var(name, shape[:-1] + [outputs] if keep else [int(numpy.prod(shape)) // depth, outputs])
        self.builder.operator("FULLY_CONNECTED", [x, weights, bias], [y], "FullyConnectedOptions",
                              fusedActivationFunction=ACTIVATIONS[activation], keepNumDims=keep)
        return y

    def binary(self, code, a, b, activation=None, shape=None):
        y = self.var(self.name(code.lower()), shape or self.shape(a))
        kind = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "DIV": "DivOptions"}.get(code)
        options = {"fusedActivationFunction": ACTIVATIONS[activation]} if kind else {}
        self.builder.operator(code, [a, b], [y], kind or "MaximumMinimumOptions", **options)
        return y

    def unary(self, code, x, kind=None, same=False, fixed=None, **options):
        """`same`: the output has the input's type; `fixed`: scale and zero point that the operator demands."""
        name = self.name(code.lower())
        given = {}
        if self.quantised() and same:
            tensor = self.builder.graph.tensors[x]
            given = {"dtype": self.dtype, "scale": tensor.quantization.scale[0], "zero": int(tensor.quantization.zeroPoint[0])}
        elif self.quantised() and fixed:
            given = {"dtype": self.dtype, "scale": fixed[0], "zero": fixed[1]}
        y = self.var(name, self.shape(x), **given)
        self.builder.operator(code, [x], [y], kind, **options)
        return y

    def moved(self, code, x, shape, more=(), kind=None, before=(), **options):
        """An operator whose output has the type of its input."""
        tensor = self.builder.graph.tensors[x]
        given = {}
        if self.quantised():
            given = {"dtype": self.dtype, "scale": tensor.quantization.scale[0], "zero": int(tensor.quantization.zeroPoint[0])}
        y = self.var(self.name(code.lower()), shape, **given)
        self.builder.operator(code, [*before, x, *more], [y], kind, **options)
        return y

    def pool(self, code, x, window, stride=None, padding="VALID", activation=None):
        n, h, w, c = self.shape(x)
        window = (window, window) if isinstance(window, int) else window
        stride = window if stride is None else (stride, stride)
        size = [-(-s // t) if padding == "SAME" else (s - k) // t + 1 for s, k, t in zip((h, w), window, stride)]
        return self.moved(code, x, [n, *size, c], kind="Pool2DOptions", padding=0 if padding == "SAME" else 1,
                          strideH=stride[0], strideW=stride[1], filterHeight=window[0], filterWidth=window[1],
                          fusedActivationFunction=ACTIVATIONS[activation])

    def mean(self, x, axes=(1, 2), keep=False):
        shape = self.shape(x)
        to = [1 if i in axes else s for i, s in enumerate(shape) if keep or i not in axes]
        y = self.var(self.name("mean"), to)
        self.builder.operator("MEAN", [x, self.builder.constant(list(axes))], [y], "ReducerOptions", keepDims=keep)
        return y

    def reshape(self, x, shape):
        return self.moved("RESHAPE", x, shape, [self.builder.constant(shape)], "ReshapeOptions", newShape=shape)

    def pad(self, x, pads):
        shape = [s + a + b for s, (a, b) in zip(self.shape(x), pads)]
        return self.moved("PAD", x, shape, [self.builder.constant(pads)], "PadOptions")

    def concat(self, parts, axis):
        shape = self.shape(parts[0])
        shape[axis] = sum(self.shape(p)[axis] for p in parts)
        name = self.name("concat")
        y = self.var(name, shape)
        if self.quantised():  # LiteRT's parts have the type of the output
            given = self.type_of(name)
            for i, part in enumerate(parts):
                requantised = self.builder.tensor(f"{name}/{i}", self.shape(part), **given)
                self.builder.operator("QUANTIZE", [part], [requantised], "QuantizeOptions")
                parts[i] = requantised
        self.builder.operator("CONCATENATION", parts, [y], "ConcatenationOptions", axis=axis, fusedActivationFunction=0)
        return y

    def resize(self, code, x, size, **options):
        n, _, _, c = self.shape(x)
        kind = "ResizeBilinearOptions" if code == "RESIZE_BILINEAR" else "ResizeNearestNeighborOptions"
        return self.moved(code, x, [n, *size, c], [self.builder.constant(list(size))], kind, **options)

    def softmax(self, x):
        return self.unary("SOFTMAX", x, "SoftmaxOptions", fixed=(1 / 256, -128 if self.dtype == "int8" else 0), beta=1.0)

    def bytes(self):
        return self.builder.bytes(self.inputs, self.outputs)


def interpreter(content, resolver=OpResolverType.AUTO, keep=False):
    made = Interpreter(model_content=content, experimental_op_resolver_type=resolver,
                       experimental_preserve_all_tensors=keep, num_threads=1)
    made.allocate_tensors()
    return made


def ranges_of(content, seed=1, runs=4):
    """Returns the range of every tensor in some runs of a network in floats."""
    run = interpreter(content, OpResolverType.BUILTIN_REF, True)
    random, ranges = numpy.random.default_rng(seed), {}
    for _ in range(runs):
        for detail in run.get_input_details():
            run.set_tensor(detail["index"], random.standard_normal(detail["shape"]).astype(numpy.float32))
        run.invoke()
        for detail in run.get_tensor_details():
            try:
                value = run.get_tensor(detail["index"])
            except ValueError:
                continue
            if value.dtype == numpy.float32 and value.size:
                low, high = ranges.get(detail["name"], (0.0, 0.0))
                ranges[detail["name"]] = (min(low, float(value.min())), max(high, float(value.max())))
    return ranges


# The networks of MLPerf Tiny, and blocks of the MobileNets.
def resnet8(net):
    x = net.input("image", [1, 32, 32, 3])
    x = net.conv(x, 16)
    for channels, stride in ((16, 1), (32, 2), (64, 2)):
        y = net.conv(net.conv(x, channels, 3, stride), channels, 3, 1, None)
        if stride > 1:
            x = net.conv(x, channels, 1, stride, None)
        x = net.binary("ADD", x, y, "relu")
    x = net.pool("AVERAGE_POOL_2D", x, 8)
    return [net.softmax(net.dense(net.reshape(x, [1, 64]), 10))]


def ds_cnn(net):
    x = net.input("mfcc", [1, 49, 10, 1])
    x = net.conv(x, 64, (10, 4), 2)
    for _ in range(4):
        x = net.conv(net.depthwise(x), 64, 1)
    x = net.pool("AVERAGE_POOL_2D", x, (25, 5))
    return [net.softmax(net.dense(net.reshape(x, [1, 64]), 12))]


def autoencoder(net):
    x = net.input("frames", [1, 640])
    for outputs in (128, 128, 128, 128, 8, 128, 128, 128, 128):
        x = net.dense(x, outputs, "relu")
    return [net.dense(x, 640)]


def mobilenet_v1(net, width=0.25, size=96):
    x = net.input("image", [1, size, size, 3])
    x = net.conv(x, int(32 * width), 3, 2, "relu6")
    for channels, stride in ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1)):
        x = net.conv(net.depthwise(x, 3, stride, "relu6"), int(channels * width), 1, 1, "relu6")
    x = net.pool("AVERAGE_POOL_2D", x, size // 32)
    return [net.softmax(net.dense(net.reshape(x, [1, int(1024 * width)]), 2))]


def mobilenet_v2(net):
    x = net.input("image", [1, 64, 64, 3])
    x = net.conv(x, 16, 3, 2, "relu6")
    for channels, stride, expand in ((8, 1, 1), (16, 2, 6), (16, 1, 6), (24, 2, 6), (24, 1, 6), (32, 2, 6), (32, 1, 6)):
        y = net.conv(x, net.shape(x)[3] * expand, 1, 1, "relu6")
        if stride == 2:
            y = net.depthwise(net.pad(y, [[0, 0], [0, 1], [0, 1], [0, 0]]), 3, 2, "relu6", padding="VALID")
        else:
            y = net.depthwise(y, 3, 1, "relu6")
        y = net.conv(y, channels, 1, 1, None)
        x = net.binary("ADD", x, y) if net.shape(x) == net.shape(y) else y
    return [net.softmax(net.dense(net.mean(net.conv(x, 128, 1, 1, "relu6")), 10))]


def mobilenet_v3(net):
    x = net.input("image", [1, 48, 48, 3])
    x = net.unary("HARD_SWISH", net.conv(x, 16, 3, 2, None))
    for channels, stride in ((16, 2), (24, 1), (24, 1)):
        y = net.unary("HARD_SWISH", net.conv(x, 3 * net.shape(x)[3], 1, 1, None))
        y = net.unary("HARD_SWISH", net.depthwise(y, 5, stride, None))
        gate = net.mean(y, keep=True)
        gate = net.conv(net.conv(gate, 8, 1, 1, "relu"), net.shape(y)[3], 1, 1, None)
        gate = net.unary("LOGISTIC", gate, fixed=(1 / 256, -128 if net.dtype == "int8" else 0))
        y = net.conv(net.binary("MUL", y, gate), channels, 1, 1, None)
        x = net.binary("ADD", x, y) if net.shape(x) == net.shape(y) else y
    return [net.softmax(net.dense(net.mean(x), 10))]


def decoder(net):
    """Segmentation: skips, resizing, a transposed convolution, concatenation."""
    x = net.input("image", [1, 32, 32, 3])
    a = net.conv(x, 8, 3, 2)
    b = net.conv(net.pool("MAX_POOL_2D", a, 2), 16, 3, 1)
    up = net.resize("RESIZE_NEAREST_NEIGHBOR", b, (16, 16))
    y = net.conv(net.concat([up, a], 3), 16, 3, 1)
    return [net.unary("LOGISTIC", net.transpose_conv(y, 2), fixed=(1 / 256, -128 if net.dtype == "int8" else 0))]


def efficientdet(net):
    """An EfficientDet-Lite: a backbone, two layers of its feature pyramid, and heads."""
    def separable(x, channels, stride=1, activation="relu6"):
        return net.conv(net.depthwise(x, 3, stride, None), channels, 1, 1, activation)

    x = net.conv(net.input("image", [1, 64, 64, 3]), 8, 3, 2, "relu6")
    levels = []
    for channels in (16, 24, 32, 40):
        x = separable(net.conv(x, 3 * channels, 1, 1, "relu6"), channels, 2)
        levels.append(net.conv(x, 24, 1, 1, None))
    for _ in range(2):
        down = [levels[-1]]  # from small to large images
        for level in reversed(levels[:-1]):
            up = net.resize("RESIZE_NEAREST_NEIGHBOR", down[-1], net.shape(level)[1:3])
            down.append(separable(net.binary("ADD", level, up), 24))
        down.reverse()
        out = [down[0]]
        for i, level in enumerate(levels[1:], 1):
            pooled = net.pool("MAX_POOL_2D", out[-1], 3, 2, "SAME")
            both = net.binary("ADD", net.binary("ADD", level, down[i]), pooled) if i < len(levels) - 1 else net.binary("ADD", level, pooled)
            out.append(separable(both, 24))
        levels = out
    outputs = []
    for size, fixed in ((9 * 5, (1 / 256, -128 if net.dtype == "int8" else 0)), (9 * 4, None)):
        parts = []
        for level in levels:
            y = separable(separable(level, 24), size, 1, None)
            parts.append(net.reshape(y, [1, net.shape(y)[1] * net.shape(y)[2] * 9, size // 9]))
        y = net.concat(parts, 1)
        outputs.append(net.unary("LOGISTIC", y, fixed=fixed) if fixed else y)
    return outputs


def yolo(net):
    """A YOLOv8 as its TensorFlow Lite export has it: SiLU, halves of channels, pools in a row, boxes as expected values."""
    sigmoid = {"fixed": (1 / 256, -128 if net.dtype == "int8" else 0)}

    def silu(x, channels, kernel=3, stride=1):
        x = net.conv(x, channels, kernel, stride, None)
        return net.binary("MUL", x, net.unary("LOGISTIC", x, **sigmoid))

    def half(x, second):
        n, h, w, c = net.shape(x)
        at = c // 2 if second else 0
        bounds = ([0, 0, 0, at], [n, h, w, at + c // 2], [1, 1, 1, 1])
        return net.moved("STRIDED_SLICE", x, [n, h, w, c // 2], [net.builder.constant(b) for b in bounds], "StridedSliceOptions")

    def halves(x, channels):
        x = silu(x, channels, 1)
        a, b = half(x, False), half(x, True)
        return silu(net.concat([a, b, net.binary("ADD", b, silu(silu(b, channels // 2), channels // 2))], 3), channels, 1)

    x = silu(silu(net.input("images", [1, 64, 64, 3]), 8, 3, 2), 16, 3, 2)
    a = halves(silu(halves(x, 16), 32, 3, 2), 32)
    x = silu(halves(silu(a, 32, 3, 2), 32), 16, 1)
    pools = [x]
    for _ in range(3):
        pools.append(net.pool("MAX_POOL_2D", pools[-1], 5, 1, "SAME"))
    b = silu(net.concat(pools, 3), 32, 1)
    up = net.resize("RESIZE_NEAREST_NEIGHBOR", b, net.shape(a)[1:3])
    small = halves(net.concat([up, a], 3), 32)
    large = halves(net.concat([silu(small, 32, 3, 2), b], 3), 32)
    boxes, scores = [], []
    for level in (small, large):
        places = net.shape(level)[1] * net.shape(level)[2]
        boxes.append(net.reshape(net.conv(silu(level, 32), 4 * 16, 1, 1, None), [1, places, 4, 16]))
        scores.append(net.reshape(net.conv(silu(level, 16), 5, 1, 1, None), [1, places, 5]))
    offsets = net.softmax(net.concat(boxes, 1))
    n, places = net.shape(offsets)[:2]
    expected = net.reshape(net.conv(offsets, 1, 1, 1, None), [n, places, 4])
    scores = net.unary("LOGISTIC", net.concat(scores, 1), **sigmoid)
    turn = [net.builder.constant([0, 2, 1])]
    return [net.moved("TRANSPOSE", y, [1, net.shape(y)[2], places], turn, "TransposeOptions") for y in (expected, scores)]


NETWORKS = {f.__name__: f for f in (resnet8, ds_cnn, autoencoder, mobilenet_v1, mobilenet_v2, mobilenet_v3, decoder, efficientdet, yolo)}


# Single operators: a function of the network that is given one image.
def of_image(shape, apply):
    def describe(net):
        result = apply(net, net.input("x", shape))
        return result if isinstance(result, list) else [result]

    return describe


def two(shape_a, shape_b, apply):
    return lambda net: [apply(net, net.input("a", shape_a), net.input("b", shape_b))]


SQUARE = [1, 9, 11, 5]
LARGE = [1, 64, 64, 48]  # enough sums that some lie near a half
CASES = {
    "conv_1x1": of_image([2, 7, 5, 13], lambda n, x: n.conv(x, 21, 1, 1, None)),
    "conv_3x3_same": of_image(SQUARE, lambda n, x: n.conv(x, 8)),
    "conv_3x3_stride2_valid": of_image(SQUARE, lambda n, x: n.conv(x, 8, 3, 2, None, "VALID")),
    "conv_3x3_stride2_same_even": of_image([1, 10, 12, 3], lambda n, x: n.conv(x, 8, 3, 2, "relu6")),
    "conv_dilated": of_image([1, 12, 12, 4], lambda n, x: n.conv(x, 6, 3, 1, None, "SAME", 2)),
    "conv_5x2": of_image(SQUARE, lambda n, x: n.conv(x, 33, (5, 2), 1, "relu_n1_to_1")),
    "depthwise": of_image([1, 10, 9, 19], lambda n, x: n.depthwise(x, 3, 2)),
    "depthwise_multiplier": of_image([1, 6, 6, 4], lambda n, x: n.depthwise(x, 3, 1, None, 3)),
    "depthwise_valid_5x5": of_image([1, 12, 12, 8], lambda n, x: n.depthwise(x, 5, 1, "relu6", padding="VALID")),
    "transpose_conv": of_image([1, 5, 6, 4], lambda n, x: n.transpose_conv(x, 3)),
    "transpose_conv_valid": of_image([1, 5, 6, 4], lambda n, x: n.transpose_conv(x, 3, 3, 2, "VALID")),
    "dense": of_image([3, 40], lambda n, x: n.dense(x, 17, "relu")),
    "dense_keep": of_image([2, 3, 24], lambda n, x: n.dense(x, 9, None, True)),
    "add": two(SQUARE, SQUARE, lambda n, a, b: n.binary("ADD", a, b)),
    "add_relu": two(SQUARE, SQUARE, lambda n, a, b: n.binary("ADD", a, b, "relu")),
    "add_broadcast": two(SQUARE, [1, 1, 1, 5], lambda n, a, b: n.binary("ADD", a, b)),
    "sub": two(SQUARE, SQUARE, lambda n, a, b: n.binary("SUB", a, b)),
    "add_large": two(LARGE, LARGE, lambda n, a, b: n.binary("ADD", a, b)),
    "sub_large": two(LARGE, LARGE, lambda n, a, b: n.binary("SUB", a, b)),
    "sub_broadcast": two([1, 1, 1, 5], SQUARE, lambda n, a, b: n.binary("SUB", a, b, "relu6", SQUARE)),
    "mul": two(SQUARE, SQUARE, lambda n, a, b: n.binary("MUL", a, b)),
    "mul_broadcast": two(SQUARE, [1, 1, 1, 5], lambda n, a, b: n.binary("MUL", a, b, "relu")),
    "average_pool": of_image([1, 8, 8, 7], lambda n, x: n.pool("AVERAGE_POOL_2D", x, 2)),
    "average_pool_same": of_image(SQUARE, lambda n, x: n.pool("AVERAGE_POOL_2D", x, 3, 2, "SAME")),
    "average_pool_global": of_image([1, 7, 7, 40], lambda n, x: n.pool("AVERAGE_POOL_2D", x, 7)),
    "average_pool_global_even": of_image([1, 8, 8, 40], lambda n, x: n.pool("AVERAGE_POOL_2D", x, 8)),
    "max_pool": of_image(SQUARE, lambda n, x: n.pool("MAX_POOL_2D", x, 3, 2, "SAME")),
    "mean": of_image([2, 6, 7, 33], lambda n, x: n.mean(x)),
    "mean_keep": of_image([2, 6, 7, 33], lambda n, x: n.mean(x, keep=True)),
    "mean_channels": of_image([2, 6, 7, 33], lambda n, x: n.mean(x, (3,))),
    "softmax": of_image([3, 10], lambda n, x: n.softmax(x)),
    "relu": of_image(SQUARE, lambda n, x: n.unary("RELU", x)),
    "relu6": of_image(SQUARE, lambda n, x: n.unary("RELU6", x)),
    "leaky_relu": of_image(SQUARE, lambda n, x: n.unary("LEAKY_RELU", x, "LeakyReluOptions", alpha=0.2)),
    "hard_swish": of_image(SQUARE, lambda n, x: n.unary("HARD_SWISH", x)),
    "logistic": of_image(SQUARE, lambda n, x: n.unary("LOGISTIC", x, fixed=(1 / 256, -128 if n.dtype == "int8" else 0))),
    "tanh": of_image(SQUARE, lambda n, x: n.unary("TANH", x, fixed=(1 / 128, 0 if n.dtype == "int8" else 128))),
    "reshape": of_image([2, 3, 4, 5], lambda n, x: n.reshape(x, [2, 12, 5])),
    "pad": of_image(SQUARE, lambda n, x: n.pad(x, [[0, 0], [1, 2], [3, 0], [0, 1]])),
    "concat": two(SQUARE, [1, 9, 11, 3], lambda n, a, b: n.concat([a, b], 3)),
    "resize_nearest": of_image([1, 5, 6, 4], lambda n, x: n.resize("RESIZE_NEAREST_NEIGHBOR", x, (10, 12))),
    "resize_nearest_half": of_image([1, 5, 6, 4], lambda n, x: n.resize("RESIZE_NEAREST_NEIGHBOR", x, (7, 13), halfPixelCenters=True)),
    "resize_bilinear": of_image([1, 5, 6, 4], lambda n, x: n.resize("RESIZE_BILINEAR", x, (10, 12))),
    "resize_bilinear_half": of_image([1, 5, 6, 4], lambda n, x: n.resize("RESIZE_BILINEAR", x, (10, 12), halfPixelCenters=True)),
    "resize_bilinear_corners": of_image([1, 5, 6, 4], lambda n, x: n.resize("RESIZE_BILINEAR", x, (9, 11), alignCorners=True)),
    "resize_bilinear_odd": of_image([1, 17, 23, 5], lambda n, x: n.resize("RESIZE_BILINEAR", x, (29, 39))),
    "resize_bilinear_odd_half": of_image([1, 17, 23, 5], lambda n, x: n.resize("RESIZE_BILINEAR", x, (29, 39), halfPixelCenters=True)),
    "resize_bilinear_odd_corners": of_image([1, 17, 23, 5], lambda n, x: n.resize("RESIZE_BILINEAR", x, (29, 39), alignCorners=True)),
    "resize_bilinear_down": of_image([1, 31, 29, 3], lambda n, x: n.resize("RESIZE_BILINEAR", x, (12, 17))),
    "resize_bilinear_down_half": of_image([1, 31, 29, 3], lambda n, x: n.resize("RESIZE_BILINEAR", x, (12, 17), halfPixelCenters=True)),
    "resize_bilinear_down_corners": of_image([1, 31, 29, 3], lambda n, x: n.resize("RESIZE_BILINEAR", x, (12, 17), alignCorners=True)),
    "resize_bilinear_between": of_image([1, 24, 20, 3], lambda n, x: n.conv(
        n.resize("RESIZE_BILINEAR", n.conv(x, 8, 3, 2), (31, 25), halfPixelCenters=True), 6)),
    "transpose": of_image([2, 3, 4, 5], lambda n, x: n.moved("TRANSPOSE", x, [2, 5, 3, 4], [n.builder.constant([0, 3, 1, 2])], "TransposeOptions")),
    "strided_slice": of_image(SQUARE, lambda n, x: n.moved(
        "STRIDED_SLICE", x, [1, 4, 5], [n.builder.constant(v) for v in ([0, 1, 0, 2], [1, 9, 10, 3], [1, 2, 2, 1])],
        "StridedSliceOptions", shrinkAxisMask=8)),
    "slice": of_image(SQUARE, lambda n, x: n.moved("SLICE", x, [1, 4, 11, 2], [n.builder.constant(v) for v in ([0, 2, 0, 3], [1, 4, -1, 2])], "SliceOptions")),
}


def made(describe, seed=0):
    """Returns the network in floats and in 8 bits."""
    floats = Network(describe, seed).bytes()
    return {"float32": floats, "int8": Network(describe, seed, ranges_of(floats)).bytes()}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, describe in {**CASES, **NETWORKS}.items():
        for dtype, content in made(describe).items():
            (folder / f"{name}.{dtype}.tflite").write_bytes(content)


if __name__ == "__main__":
    main()
