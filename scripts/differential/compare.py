"""Comparison of results: exact where nothing is rounded, else to what rounding errors can do."""
import numpy as np
import onnx
from onnx import helper, numpy_helper

from . import references
from .builder import Value

# Operators whose results are elements of their inputs, or integers and truths by them: nothing is rounded.
EXACT = set("""Abs And ArgMax ArgMin BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil CenterCropPad Clip
Compress Concat ConcatFromSequence Constant ConstantOfShape ConvInteger DepthToSpace DequantizeLinear Dropout Equal Expand
EyeLike Flatten Floor Gather GatherElements GatherND GlobalMaxPool Greater GreaterOrEqual Hardmax Identity IsInf IsNaN Less
LessOrEqual MatMulInteger Max MaxPool MaxUnpool Min Neg NonZero Not OneHot Or Pad Relu Reshape ReverseSequence Round Scatter
SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert Shape Sign Size Slice SpaceToDepth Split
SplitToSequence Squeeze ThresholdedRelu Tile TopK Transpose Trilu Unsqueeze Where Xor ReduceMax ReduceMin
QuantizeLinear""".split())
_RELATIVE = {"float32": 1e-5, "float64": 1e-5, "float16": 2e-3}  # of the value; Ashlar computes float64 as float32
_OF_LARGEST = {"float32": 2e-6, "float64": 2e-6, "float16": 1e-3}
_NOISE = {"float32": 2.0**-20, "float64": 2.0**-20, "float16": 2.0**-10}
_SAMPLES = 12


def exact(nodes):
    return all(node.op_type in EXACT for node in nodes)


def difference(got, want, strict, slack=None):
    """Returns the difference as text, or None. `slack`: how far each element may be away, in addition to the tolerance."""
    if got.dtype.kind == want.dtype.kind == "f":  # floats of 16 and 64 bits are computed as Float32
        got = got.astype(want.dtype)
    if got.dtype != want.dtype or got.shape != want.shape:
        return f"is {got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if want.size == 0:
        return None
    if want.dtype.kind != "f":
        wrong = got != want
        if slack is not None:
            away = np.abs(got.astype(np.float64) - want.astype(np.float64))
            wrong &= away > slack
    else:
        a, w = got.astype(np.float64), want.astype(np.float64)
        with np.errstate(all="ignore"):
            finite = np.isfinite(w)
            if strict and want.dtype != np.float64:  # which is computed as float32
                allowed = np.zeros(w.shape)
            else:
                largest = np.abs(w[finite]).max(initial=0)
                allowed = _RELATIVE[want.dtype.name] * np.abs(w) + _OF_LARGEST[want.dtype.name] * largest + 1e-37
            if slack is not None:
                allowed = allowed + slack
            same = (a == w) | (np.isnan(a) & np.isnan(w))
            wrong = ~same & ~(finite & (np.abs(a - w) <= allowed))
            wrong &= ~np.isnan(allowed)  # what rounding turns over altogether
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {want.size} differ, first at {list(at)}: {got[at]!s}, expected {want[at]!s}"


def slacks(builder, results):
    """How far results move when every rounded float is disturbed by a few units in its last place, or None. Largest of a few
    samples, by element: it knows cancellation, ties of rounding and steps."""
    model = builder.model(results)
    base = _evaluate(model, {v.name: v.array for v in builder.inputs})
    if base is None:
        return None
    moved = [np.zeros(np.shape(b)) for b in base]
    rng = np.random.default_rng(1)
    for _ in range(_SAMPLES):
        noisy, feeds = _disturbed(builder, results, rng)
        sample = _evaluate(noisy, feeds)
        if sample is None:
            return None
        for i, (s, b) in enumerate(zip(sample, base)):
            if s.shape != b.shape:
                return None
            with np.errstate(all="ignore"):
                far = np.abs(s.astype(np.float64) - b.astype(np.float64))
                far = np.where(np.isfinite(b.astype(np.float64)), far, 0 if s.dtype.kind != "f" else np.where(
                    np.isfinite(s.astype(np.float64)), np.nan, 0))
            moved[i] = np.fmax(moved[i], np.where(np.isnan(far), np.inf, far)) if far.size else moved[i]
    return [4 * m if b.dtype.kind == "f" else m for m, b in zip(moved, base)]


def _evaluate(model, feeds):
    results = references.by_onnxruntime(model, feeds)
    if isinstance(results, str):
        results = references.by_reference(model, feeds)
    return None if isinstance(results, str) else [np.asarray(r) for r in results]


def _shaken(array, rng):
    unit = _NOISE[array.dtype.name]
    return (array * (1 + rng.uniform(-unit, unit, array.shape))).astype(array.dtype)


def _disturbed(builder, results, rng):
    """The model with a factor near 1 behind every float that a node computes, and its inputs disturbed alike."""
    shaken = lambda v: v if v.exact or v.dtype not in _NOISE else Value(v.name, _shaken(v.array, rng), v.constant)
    initializers = [shaken(v) for v in builder.initializers]
    inputs = [shaken(v) for v in builder.inputs]
    factors, nodes = [], []
    for node in builder.nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        nodes.append(copy)
        if node.op_type in EXACT and node.op_type != "DequantizeLinear":
            continue
        for i, name in enumerate(node.output):
            array = builder.arrays.get(name)
            if not isinstance(array, np.ndarray) or array.dtype.name not in _NOISE or array.size == 0:
                continue
            copy.output[i] = name + "_before"
            factor = Value(name + "_factor", _shaken(np.ones(array.shape, array.dtype), rng), True)
            factors.append(factor)
            nodes.append(helper.make_node("Mul", [name + "_before", factor.name], [name]))
    model = references.model_of(nodes, inputs, initializers + factors, results, builder.opset)
    return model, {v.name: v.array for v in inputs}
