"""Operators that work element by element: functions, arithmetic, comparisons, logic, conversions."""
import numpy as np
from onnx import helper

from .builder import FLOATS, INTEGERS, SIGNED, Skip, allowed
from .registry import operator, operators

_BOUNDED = {"Acos": (-1, 1), "Asin": (-1, 1), "Atanh": (-0.99, 0.99), "Acosh": (1, 9), "Log": (1e-3, 9), "Sqrt": (0, 9),
            "Sinh": (-9, 9), "Cosh": (-9, 9), "Exp": (-20, 20), "Tan": (-1.4, 1.4), "Reciprocal": (0.1, 9)}
_PARAMETERS = {"alpha": (0.1, 2.0), "beta": (0.1, 1.0), "gamma": (0.5, 2.0), "lambd": (0.0, 1.0), "bias": (-1.0, 1.0)}


@operators("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor",
           "Gelu", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu",
           "Shrink", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Swish", "Tan", "Tanh",
           "ThresholdedRelu", weight=0.5)
def function(b, op):
    low, high = _BOUNDED.get(op, (None, None))
    if b.edges and b.chance(0.5):
        low = high = None
    x = b.take(op, low=low, high=high)
    if op in ("Shrink", "ThresholdedRelu") and x.dtype.startswith("uint"):
        raise Skip("of no use")
    attributes = {k: b.integer(1, 20) * (v[1] - v[0]) / 20 + v[0] for k, v in _PARAMETERS.items()
                  if b.has(op, k) and b.chance(0.7)}
    if b.has(op, "approximate"):
        attributes["approximate"] = b.pick(None, "none", "tanh")
    return b.node(op, x, **attributes)


@operators("IsInf", "IsNaN")
def is_special(b, op):
    x = b.take(op, specials=True)
    return b.node(op, x, detect_negative=b.pick(None, 0, 1) if op == "IsInf" else None,
                  detect_positive=b.pick(None, 0, 1) if op == "IsInf" else None)


@operators("Identity", "Dropout", "Not", "BitwiseNot")
def same_shape(b, op):
    x = b.take(op)
    if op == "Dropout" and b.opset >= 12 and b.chance(0.3):
        return b.node(op, x, b.constant(np.array(0.25, np.float32)), b.constant(np.array(False)))
    return b.node(op, x, ratio=b.pick(None, 0.3))


@operators("Add", "Sub", "Mul", weight=2)
def arithmetic(b, op):
    x = b.take(op)
    y = b.like(x)
    return b.node(op, *((x, y) if b.chance(0.7) else (y, x)))


@operators("Div", "Mod", weight=1.5)
def division(b, op):
    """The least integer by -1 ends ONNX Runtime, and division by zero has no result."""
    x = b.take(op)
    fmod = None
    if op == "Mod":
        fmod = 1 if x.dtype in FLOATS else b.pick(None, 0, 1)
    y = b.like(x, nonzero=True, **({"low": 0.3, "high": 4} if x.dtype in FLOATS and not b.edges else {}))
    if x.dtype in SIGNED and np.any(x.array == np.iinfo(x.dtype).min) and np.any(y.array == -1):
        b.onnxruntime = False
    return b.node(op, x, y, fmod=fmod)


@operator("Pow", weight=1.5)
def power(b, op):
    x = b.take(op, edges=False)
    dtypes = allowed(op, b.opset, 1) if b.opset >= 12 else [x.dtype]
    dtype = b.pick(x.dtype, *[d for d in dtypes if d in FLOATS + INTEGERS])
    if dtype not in dtypes:
        raise Skip("dtype")
    shape = () if b.chance(0.5) else b.broadcastable(x.shape)
    if dtype in FLOATS and x.dtype in FLOATS and np.any(x.array < 0):
        y = b.constant(b.rng.integers(0 if np.any(x.array == 0) else -2, 4, shape).astype(dtype))
    else:
        y = b.new(dtype, shape, low=0, high=3)
    return b.node(op, x, y)


@operators("Max", "Min", "Sum", "Mean")
def variadic(b, op):
    x = b.take(op)
    others = [b.like(x) for _ in range(b.pick(0, 1, 1, 1, 2, 3))]
    return b.node(op, x, *others)


@operators("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "And", "Or", "Xor", "BitwiseAnd", "BitwiseOr",
           "BitwiseXor")
def comparison(b, op):
    x = b.take(op, specials=True)
    y = b.like(x)
    if y.constant and y.shape == x.shape and b.chance(0.3) and x.array.size and not y.exact:
        y = b.constant(np.where(b.rng.random(x.shape) < 0.5, x.array, y.array))  # with equal elements
    return b.node(op, x, y)


@operator("BitShift", weight=2)
def shift(b, op):
    x = b.take(op)
    y = b.new(x.dtype, b.broadcastable(x.shape), low=0, high=np.iinfo(x.dtype).bits - 1)
    return b.node(op, x, y, direction=b.pick("LEFT", "RIGHT"))


@operator("Clip", weight=2)
def clip(b, op):
    x = b.take(op)
    if b.opset < 11:
        return b.node(op, x, min=b.pick(None, -0.5), max=b.pick(None, 1.25))
    low, high = sorted(b.data(x.dtype, (2,)))
    return b.node(op, x, b.constant(np.asarray(low)) if b.chance(0.7) else None,
                  b.constant(np.asarray(high)) if b.chance(0.7) else None)


@operators("Cast", "CastLike", weight=3)
def cast(b, op):
    x = b.take(op)
    to = b.dtype(op, 0)
    if x.dtype in FLOATS and to in INTEGERS:  # what does not fit is undefined
        info = np.iinfo(to)
        fits = np.isfinite(x.array).all() and (
            np.all(x.array > info.min - 0.99) and np.all(x.array < float(info.max)) if x.array.size else True)
        if not fits:
            raise Skip("undefined")
    if op == "CastLike":
        return b.node(op, x, b.new(to, b.shape(0, 2)))
    return b.node(op, x, to=helper.np_dtype_to_tensor_dtype(np.dtype(to)))


@operator("PRelu")
def prelu(b, op):
    x = b.take(op)
    shape = x.shape if b.chance(0.3) else tuple(1 if b.chance(0.4) else d for d in x.shape)
    shape = shape[b.integer(0, len(shape)):] if b.chance(0.4) else shape
    return b.node(op, x, b.weight(x.dtype, shape))


@operator("Where", weight=1.5)
def where(b, op):
    x = b.take(op, 1)
    condition = b.existing(["bool"], lambda v: v.shape == x.shape) if b.chain else None
    condition = condition or b.new("bool", b.broadcastable(x.shape))
    return b.node(op, condition, x, b.like(x))


@operators("CumSum", "CumProd")
def cumulative(b, op):
    x = b.take(op, low_rank=1)
    return b.node(op, x, b.constant(np.array(b.axis(x.rank), b.pick(np.int64, np.int32))), exclusive=b.pick(None, 0, 1),
                  reverse=b.pick(None, 0, 1))


@operator("SwiGLU")
def swiglu(b, op):
    x = b.take(op)
    return b.node(op, x, b.like(x, shape=x.shape), alpha=b.pick(None, 0.5, 1.7))
