"""Quantised operators, and floats between DequantizeLinear and QuantizeLinear."""
import numpy as np

from .builder import Skip
from .images import window
from .registry import operator, operators

_BITS = ("uint8", "int8")


def weights8(b, dtype, shape, constant=True):
    """8-bit weights, mostly of 7 bits: with 8 ONNX Runtime's sums of pairs saturate on processors without VNNI."""
    info = np.iinfo(dtype)
    few = b.chance(0.9)
    return b.new(dtype, shape, constant=constant, low=max(info.min, -64 if few else -128), high=min(info.max, 63 if few else 255))


def zero(b, dtype, shape=()):
    """A zero point; of int8 mostly 0, as quantisers give it."""
    info = np.iinfo(dtype)
    if dtype == "int8" and b.chance(0.6):
        return b.constant(np.zeros(shape, dtype))
    return b.constant(b.data(dtype, shape, low=max(info.min, -20), high=min(info.max, 140)))


def scale(b, shape=(), low=0.01, high=0.2):
    return b.constant(b.data("float32", shape, low=low, high=high), exact=False)


def quantised_input(b, shape, dtype=None):
    dtype = dtype or b.pick(*_BITS)
    found = b.existing([dtype], lambda v: len(shape) == v.rank) if b.chain and b.chance(0.8) else None
    if found is not None:
        return found
    info = np.iinfo(dtype)
    return b.new(dtype, shape, low=info.min, high=info.max)


def per_channel(b, op, name, x, axis):
    """Scale and zero point of a whole tensor or of slices along an axis."""
    if b.opset >= 13 and b.chance(0.3) and x.rank:
        return (x.shape[axis],), axis
    return (), None


@operators("QuantizeLinear", "QuantizeLinear:com.microsoft", weight=3)
def quantize(b, op):
    contributed = ":" in op
    op = op.split(":")[0]
    x = b.take(op, 0, ("float32",))
    dtype = b.pick(*_BITS)
    axis = b.axis(x.rank, None if b.opset >= 13 else 0) if x.rank else None
    shape, axis = per_channel(b, op, dtype, x, axis)
    step = scale(b, shape, 0.01, 0.1) if b.chance(0.7) else b.constant(np.full(shape, b.pick(0.5, 0.25, 1.0), np.float32))
    if contributed:
        return b.node(op, x, step, zero(b, dtype, shape), domain="com.microsoft", axis=axis)
    point = zero(b, dtype, shape) if dtype == "int8" or b.chance(0.8) else None
    return b.node(op, x, step, point, axis=axis, saturate=b.pick(None, 1))


@operators("DequantizeLinear", "DequantizeLinear:com.microsoft", weight=3)
def dequantize(b, op):
    contributed = ":" in op
    op = op.split(":")[0]
    x = b.take("QuantizeLinear", 2, _BITS, fits=lambda v: True) if b.chance(0.8) or contributed else b.new(
        "int32", b.shape(0, 4), low=-3000, high=3000)
    axis = b.axis(x.rank, None if b.opset >= 13 else 0) if x.rank else None
    shape, axis = per_channel(b, op, x.dtype, x, axis)
    point = zero(b, x.dtype, shape) if x.dtype != "int32" and b.chance(0.8) else None
    if contributed:
        return b.node(op, x, scale(b, shape), point or zero(b, x.dtype, shape), domain="com.microsoft", axis=axis)
    return b.node(op, x, scale(b, shape), point, axis=axis)


@operator("DynamicQuantizeLinear", chain=False)
def dynamic(b, op):
    return b.node(op, b.take(op, edges=False), outputs=3)


@operator("QLinearConv", weight=3)
def qlinear_conv(b, op):
    x = quantised_input(b, b.image(4))
    if x.rank != 4:
        raise Skip("rank")
    c = x.shape[1]
    group = b.pick(1, 1, c)
    out = group * b.integer(1, 3)
    attributes = window(b, op, x.shape)
    dtype = b.pick("int8", "uint8") if x.dtype == "uint8" else "int8"
    w = weights8(b, dtype, (out, c // group, *attributes["kernel_shape"]))
    each = (out,) if b.chance(0.4) else ()
    bias = b.constant(b.data("int32", (out,), low=-2000, high=2000)) if b.chance(0.6) else None
    wzero = b.constant(np.zeros(each, dtype)) if dtype == "int8" else zero(b, dtype, each)
    return b.node(op, x, scale(b), zero(b, x.dtype), w, scale(b, each, 0.001, 0.02), wzero, scale(b, (), 0.05, 0.5),
                  zero(b, x.dtype), bias, group=group if group > 1 else None, **attributes)


@operators("ConvInteger", "MatMulInteger", weight=2)
def integer_product(b, op):
    conv = op == "ConvInteger"
    x = quantised_input(b, b.image(4) if conv else b.shape(2, 3), b.pick("uint8", "uint8", "int8"))
    if conv and x.rank != 4:
        raise Skip("rank")
    dtype = b.pick(*_BITS)
    attributes = {}
    if conv:
        attributes = window(b, op, x.shape)
        shape = (b.integer(1, 4), x.shape[1], *attributes["kernel_shape"])
    else:
        shape = (x.shape[-1], b.integer(1, 6))
    w = weights8(b, dtype, shape, b.chance(0.8))
    return b.node(op, x, w, zero(b, x.dtype) if b.chance(0.7) else None, zero(b, dtype) if b.chance(0.5) else None, **attributes)


@operator("QLinearMatMul", weight=2)
def qlinear_matmul(b, op):
    x = quantised_input(b, b.shape(2, 3))
    if x.rank < 2:
        raise Skip("rank")
    dtype = b.pick(*_BITS) if x.dtype == "uint8" else "int8"
    w = weights8(b, dtype, (x.shape[-1], b.integer(1, 6)), b.chance(0.8))
    return b.node(op, x, scale(b), zero(b, x.dtype), w, scale(b, (), 0.001, 0.02), zero(b, dtype), scale(b, (), 0.05, 0.3),
                  zero(b, x.dtype))


@operator("QDQ", weight=8)
def between(b, op):
    """A float operator between DequantizeLinear and QuantizeLinear, as quantisers of models write it."""
    if b.opset < 10:
        raise Skip("no QDQ")
    kind = b.pick("Conv", "Conv", "Conv", "MatMul", "Gemm", "Add", "Mul", "MaxPool", "AveragePool", "GlobalAveragePool", "Relu",
                  "Sigmoid", "Concat", "Reshape", "Transpose", "Clip", "Pad", "LeakyRelu", "Softmax", "Resize")
    x8 = quantised_input(b, b.image(4))
    x_scale = scale(b)
    x = b.node("DequantizeLinear", x8, x_scale, zero(b, x8.dtype))
    if kind in ("Conv", "MaxPool", "AveragePool", "GlobalAveragePool", "Resize", "MatMul") and x.rank != 4:
        raise Skip("rank")
    if kind == "Conv":
        group = b.pick(1, 1, x.shape[1])
        attributes = window(b, "Conv", x.shape)
        out = group * b.integer(1, 3) if group > 1 else b.pick(1, 3, 8, 16)
        w, w_scale = weight_of(b, (out, x.shape[1] // group, *attributes["kernel_shape"]), 0)
        bias = None
        if b.chance(0.6):
            steps = x_scale.array * w_scale if b.chance(0.7) else b.data("float32", (), low=1e-4, high=1e-2)
            values = b.constant(b.data("int32", (out,), low=-3000, high=3000))
            axis = 0 if steps.ndim else None
            bias = b.node("DequantizeLinear", values, b.constant(steps), None, axis=axis)
        y = b.node("Conv", x, w, bias, group=group if group > 1 else None, **attributes)
        if b.chance(0.4):
            y = b.node(b.pick("Relu", "Relu", "Sigmoid", "LeakyRelu"), y)
    elif kind in ("MatMul", "Gemm"):
        if kind == "Gemm":
            x = b.node("Flatten", x) if x.rank != 2 else x
        w, _ = weight_of(b, (x.shape[-1], b.integer(1, 8)), 1)
        y = b.node(kind, x, w) if kind == "MatMul" else b.node(
            kind, x, w, b.weight("float32", (w.shape[1],)) if b.opset < 11 or b.chance(0.5) else None)
    elif kind in ("Add", "Mul", "Concat"):
        same = b.existing([x8.dtype], lambda v: v.shape == x8.shape) if b.chance(0.5) else None
        other = b.node("DequantizeLinear", same or b.new(x8.dtype, x8.shape, low=0, high=127), scale(b), zero(b, x8.dtype))
        y = b.node(kind, x, other, axis=b.axis(x.rank, 0) if kind == "Concat" else None)
        if b.chance(0.3):
            y = b.node("Relu", y)
    elif kind in ("MaxPool", "AveragePool"):
        y = b.node(kind, x, count_include_pad=b.pick(None, 1), ceil_mode=b.pick(None, 1), **window(b, kind, x.shape))
    elif kind == "Reshape":
        y = b.node(kind, x, b.ints(x.shape[0], -1))
    elif kind == "Transpose":
        y = b.node(kind, x, perm=[int(i) for i in b.rng.permutation(x.rank)])
    elif kind == "Pad":
        y = b.node(kind, x, b.ints(*[b.integer(0, 2) for _ in range(2 * x.rank)])) if b.opset >= 11 else b.node(
            kind, x, pads=[b.integer(0, 2) for _ in range(2 * x.rank)])
    elif kind == "Clip":
        y = b.node(kind, x, b.constant(np.float32(-0.4)), b.constant(np.float32(2.3))) if b.opset >= 11 else b.node(
            kind, x, min=-0.4, max=2.3)
    elif kind == "Resize":
        if b.opset < 13:
            raise Skip("other inputs")
        y = b.node(kind, x, None, b.constant(np.array([1, 1, 2, 2], np.float32)), mode=b.pick("nearest", "linear"),
                   coordinate_transformation_mode=b.pick("asymmetric", "half_pixel"))
    elif kind == "Softmax":
        y = b.node(kind, x, axis=x.rank - 1)
    else:
        y = b.node(kind, x)
    most = float(np.abs(y.array).max(initial=0.1))
    dtype = b.pick(x8.dtype, x8.dtype, *_BITS)
    return b.node("QuantizeLinear", y, b.constant(np.float32(most / b.pick(60, 100, 127))), zero(b, dtype))


def weight_of(b, shape, axis):
    """8-bit weights, dequantised, of one scale or one a channel; and the scale."""
    dtype = b.pick("int8", "int8", "uint8")
    each = (shape[axis],) if b.opset >= 13 and b.chance(0.4) else ()
    w = weights8(b, dtype, shape)
    steps = scale(b, each, 0.002, 0.02)
    points = b.constant(np.zeros(each, dtype)) if dtype == "int8" else zero(b, dtype, each)
    result = b.node("DequantizeLinear", w, steps, points, axis=axis if each else None)
    return result, steps.array


def _m(name):
    return name + ":com.microsoft"


@operators(*map(_m, ("QLinearAdd", "QLinearMul", "QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearConcat",
                     "QLinearLeakyRelu", "QLinearSigmoid", "QLinearSoftmax", "QLinearWhere", "QGemm")),
           chain=False)
def of_the_quantiser(b, op):
    """The operators that ONNX Runtime's quantiser writes in its QOperator format."""
    op = op.split(":")[0]
    dtype = b.pick(*_BITS)
    shape = b.image(4) if "Pool" in op else b.shape(2, 2) if op == "QGemm" else b.shape(2, 4)
    triple = lambda shape, constant=None: [b.new(dtype, shape, constant=constant, low=0, high=127), scale(b), zero(b, dtype)]
    x, result = triple(shape), [scale(b, (), 0.02, 0.3), zero(b, dtype)]
    attributes = {}
    if op in ("QLinearAdd", "QLinearMul"):
        inputs = x + triple(shape) + result
    elif op == "QLinearConcat":
        inputs, attributes = result + x + triple(shape), {"axis": b.axis(len(shape), 0)}
    elif op == "QLinearWhere":
        inputs = [b.new("bool", shape)] + x + triple(shape) + result
    elif op == "QGemm":
        trans = b.pick(None, 1)
        n = b.integer(1, 6)
        w = triple((n, shape[1]) if trans else (shape[1], n), True)
        bias = b.constant(b.data("int32", (n,), low=-900, high=900)) if b.chance(0.5) else None
        inputs, attributes = x + w + [bias] + result, {"transB": trans}
    else:
        inputs = x + result
        attributes = {"QLinearLeakyRelu": {"alpha": 0.2}, "QLinearSoftmax": {"axis": -1, "opset": 13}}.get(op, {})
        if op == "QLinearAveragePool":
            attributes = {**window(b, "AveragePool", shape, dilated=False, same=False), "count_include_pad": b.pick(None, 1)}
            attributes.pop("auto_pad")
    return b.node(op, *inputs, domain="com.microsoft", **attributes)
