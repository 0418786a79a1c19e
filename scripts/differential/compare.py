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
# Operators that compute doubles in Float32, as docs/onnx.md says ("Types"); all others compute doubles.
AS_FLOAT32 = set("""BlackmanWindow ConvInteger DeformConv DequantizeLinear DynamicQuantizeLinear GridSample HammingWindow
HannWindow MatMulInteger QLinearConv QLinearMatMul QuantizeLinear RoiAlign""".split())
# Operators with rounded coordinates, or with a sum at the end: an element moves by a share of other elements, not of itself.
_BY_LARGEST = {"DeformConv", "GridSample", "LogSoftmax", "Resize", "RoiAlign", "Upsample"}
# By the least exact format that a result was rounded to on its way. Ashlar computes 16 bits in Float32, the references do not.
_FORMATS = ("float64", "float32", "float16")
_RELATIVE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-3}  # of the value
_OF_LARGEST = {"float64": 1e-13, "float32": 2e-6, "float16": 1e-3}
_NOISE = {"float64": 2.0**-47, "float32": 2.0**-20, "float16": 2.0**-10}
_SAMPLES = 12


def _worst(formats):
    return max((f for f in formats if f), key=_FORMATS.index, default=None)


def _format(node, arrays):
    """The format that a node rounds to; None if it rounds nothing."""
    dtypes = {arrays[n].dtype.name for n in [*node.input, *node.output] if isinstance(arrays.get(n), np.ndarray)}
    floats = dtypes.intersection(_FORMATS)
    if "float64" in floats and node.op_type in AS_FLOAT32:
        return _worst(floats | {"float32"})
    return None if node.op_type in EXACT else _worst(floats)


def roundings(builder):
    """By name, the least exact format that a value was rounded to on its way from the inputs; None if it is exact."""
    formats = {}
    for node in builder.nodes:
        rounded = _worst([_format(node, builder.arrays), *(formats.get(n) for n in node.input)])
        formats.update((n, rounded) for n in node.output)
    return formats


def difference(got, want, rounded, slack=None):
    """Returns the difference as text, or None. `rounded`: the format of roundings(); None asks for equal bits. `slack`: how far
    each element may be away, in addition to the tolerance."""
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
            allowed = np.zeros(w.shape)
            if rounded:
                largest = np.abs(w[finite]).max(initial=0)
                allowed = _RELATIVE[rounded] * np.abs(w) + _OF_LARGEST[rounded] * largest
                allowed = allowed + (1e-37 if rounded != "float64" else 1e-307)
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


def _shaken(array, unit, rng):
    return (array * (1 + rng.uniform(-unit, unit, array.shape))).astype(array.dtype)


def _factors(node, array, unit, rng):
    """Factors that move the elements of a node's result by a unit of themselves, or of the largest."""
    sizes = np.abs(array.astype(np.float64))
    if node.op_type in _BY_LARGEST:
        unit = unit * sizes[np.isfinite(sizes)].max(initial=0) / np.where(sizes > 0, sizes, np.inf)
    return (1 + unit * rng.uniform(-1, 1, array.shape)).astype(array.dtype)


def _disturbed(builder, results, rng):
    """The model with a factor near 1 after every float that a node computes, and its inputs disturbed alike."""
    given = builder.initializers + builder.inputs
    exact = {v.name for v in given if v.exact}
    shaken = lambda v: v if v.exact or v.dtype not in _NOISE else Value(v.name, _shaken(v.array, _NOISE[v.dtype], rng), v.constant)
    initializers = [shaken(v) for v in builder.initializers]
    inputs = [shaken(v) for v in builder.inputs]
    factors, nodes = [], []

    def multiply(name, result, array):
        factors.append(Value(result + "_factor", array, True))
        nodes.append(helper.make_node("Mul", [name, factors[-1].name], [result]))

    for node in builder.nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        if node.op_type in AS_FLOAT32:  # rounds doubles first
            for i, name in enumerate(node.input):
                array = builder.arrays.get(name)
                if isinstance(array, np.ndarray) and array.dtype == np.float64 and array.size and name not in exact:
                    copy.input[i] = f"{node.name}_narrow{i}"
                    multiply(name, copy.input[i], _shaken(np.ones(array.shape), _NOISE["float32"], rng))
        nodes.append(copy)
        rounded = _format(node, builder.arrays) or ("float32" if node.op_type == "DequantizeLinear" else None)
        if rounded is None:
            continue
        for i, name in enumerate(node.output):
            array = builder.arrays.get(name)
            if not isinstance(array, np.ndarray) or array.dtype.name not in _NOISE or array.size == 0:
                continue
            copy.output[i] = name + "_before"
            multiply(copy.output[i], name, _factors(node, array, _NOISE[rounded], rng))
    model = references.model_of(nodes, inputs, initializers + factors, results, builder.opset)
    return model, {v.name: v.array for v in inputs}
