"""Differences that are explained: which reference, which nodes, who is right, and the sentence that decides."""
import dataclasses
from typing import Callable

import numpy as np
from onnx import helper


@dataclasses.dataclass
class Known:
    reference: str  # the one that differs from Ashlar
    ops: str  # operators, apart by spaces
    right: str  # who is right
    why: str
    when: Callable = lambda node: True


@dataclasses.dataclass
class Node:
    """A node with its operator set and the arrays of its inputs by place, None where one is left out."""
    op: str
    opset: int
    attributes: dict
    inputs: list
    outputs: list
    constant: bool  # computed before the run

    def get(self, name, default=None):
        return self.attributes.get(name, default)

    def dtype(self, index=0):
        return self.inputs[index].dtype.name if index < len(self.inputs) and self.inputs[index] is not None else None


def describe(builder, node):
    constant = {v.name for v in builder.values if not v.constant}
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    attributes = {k: v.decode() if isinstance(v, bytes) else v for k, v in attributes.items()}
    return Node(node.op_type, builder.opset, attributes, [builder.arrays.get(n) for n in node.input],
                [builder.arrays.get(n) for n in node.output], not any(n in constant for n in node.input))


def explained(reference, node):
    """The entry that explains a difference from a reference, the first at this node; or None."""
    for known in KNOWN:
        if known.reference in (reference, "both") and node.op in known.ops.split():
            try:
                if known.when(node):
                    return known
            except (AttributeError, IndexError, TypeError):  # a node without that input
                continue
    return None


def _differs_by_rounding(node):
    a, b = node.inputs[0], node.inputs[1]
    return a.dtype.kind == "f" and not node.constant and bool(np.isclose(a, b, rtol=1e-6, atol=0).any())


def _is_far_from_zero(node):
    x, axes = node.inputs[0].astype(np.float64), tuple(node.get("axes", (0, 2, 3)))
    return bool((np.abs(x.mean(axis=axes)) > x.std(axis=axes)).any())


def _same(node):
    return str(node.get("auto_pad", "")).startswith("SAME")


def _wide(node):
    """8-bit weights beyond 7 bits."""
    return any(a is not None and a.dtype.name in ("int8", "uint8") and (a.max(initial=0) > 63 or a.min(initial=0) < -64)
               for a in node.inputs)


def _crops_axes_of_one_length(node):
    if node.get("coordinate_transformation_mode") != "tf_crop_and_resize":
        return False
    before, after, region = node.inputs[0].shape, node.outputs[0].shape, node.inputs[1]
    axes = node.get("axes", range(len(before)))
    return any(before[a] == after[a] and (begin, end) != (0, 1)
               for a, begin, end in zip(axes, region, region[len(region) // 2:]))


def _sums_beyond_doubles(node):
    """Sums of products of integers that are beyond a double's."""
    bounds = [np.sum(np.abs(array.astype(np.float64))) for array in node.inputs]
    return node.inputs[0].dtype.kind in "iu" and np.prod(bounds) >= 2.0**53


def _reduces_beyond_doubles(node):
    """Sums or products of integers that are beyond a double's, or an Int32's."""
    data = node.inputs[0]
    if data.dtype.name not in ("int32", "int64", "uint32", "uint64"):
        return False
    sizes = np.abs(data.astype(np.float64))
    total = {"ReduceProd": np.prod(np.maximum(sizes, 1)), "ReduceSumSquare": np.sum(sizes**2)}.get(node.op, np.sum(sizes))
    return total >= 2.0**min(53, data.dtype.itemsize * 8 - 1)


def _spreads_blocks(node):
    return any(d > 1 and b > 1 for d, b in zip(node.get("dilations", []), node.inputs[2]))


def _has_one_query(node):
    queries = node.inputs[0].shape[1 if node.inputs[0].ndim == 3 else 2]
    return queries == 1 and len(node.inputs) > 4 and node.inputs[4] is not None


def _has_no_integer(node):
    """Whether a power of an integer lies outside of its type, or is no number."""
    if node.inputs[0].dtype.kind != "i" or node.inputs[1].dtype.kind != "f":
        return False
    with np.errstate(all="ignore"):
        power = np.power(node.inputs[0].astype(np.float64), node.inputs[1].astype(np.float64))
    return not (np.abs(power) < 2.0**(node.inputs[0].dtype.itemsize * 8 - 1)).all()


# Operators that are read and that neither reference evaluates.
WITHOUT_REFERENCE = {"QLinearReduceMean:com.microsoft"}

_REFERENCE, _RUNTIME = "onnx.reference", "onnxruntime"
_OTHER = "Ashlar and ONNX Runtime"

KNOWN = [
    Known(_REFERENCE, "Softmax LogSoftmax Hardmax", _OTHER,
          "before operator set 13 'the input is coerced into a 2D tensor' at axis; onnx.reference works along axis",
          lambda n: n.opset < 13),
    Known(_REFERENCE, "BatchNormalization", _OTHER,
          "operator set 9: a test case has 1 output, by the mean and var given; onnx.reference takes those of the batch",
          lambda n: n.opset < 14),
    Known(_REFERENCE, "MaxPool AveragePool LpPool", _OTHER,
          "auto_pad SAME: 'output_shape[i] = ceil(input_shape[i] / strides[i])'; onnx.reference gives fewer", _same),
    Known(_REFERENCE, "MaxPool AveragePool LpPool", _OTHER,
          "auto_pad VALID has its own formula of the output's shape, with dilations and ceil_mode; onnx.reference forgets those",
          lambda n: n.get("auto_pad") == "VALID" and (n.get("ceil_mode") or n.get("dilations"))),
    Known(_REFERENCE, "MaxPool", _OTHER,
          "windows of one and three dimensions, of unequal pads, and Indices ('the dimensions are flattened'): onnx.reference has "
          "code of its own for them, which reads other elements",
          lambda n: n.inputs[0].ndim != 4 or len(n.outputs) > 1 or n.get("ceil_mode") or len(set(n.get("pads", [0]))) > 1),
    Known(_REFERENCE, "AveragePool", _OTHER,
          "count_include_pad 0 'doesn't include pad'; with ceil_mode onnx.reference moves the window by other pads",
          lambda n: n.get("ceil_mode") and any(n.get("pads", []))),
    Known(_REFERENCE, "LpPool", _OTHER,
          "the norm of the elements inside; onnx.reference multiplies a mean by the whole window where that hangs over the edge",
          lambda n: n.get("ceil_mode")),
    Known(_REFERENCE, "GlobalMaxPool", _OTHER,
          "'the other dimensions' than N and C are pooled; onnx.reference pools two, wherever they are",
          lambda n: n.inputs[0].ndim != 4),
    Known(_REFERENCE, "LRN", _OTHER,
          "the sum goes over channels; onnx.reference makes as many sums as there are images",
          lambda n: n.inputs[0].shape[0] < n.inputs[0].shape[1]),
    Known(_REFERENCE, "LRN", "Ashlar",
          "'bias + alpha / size * square_sum' of tensor(double) too; onnx.reference takes float32's quotient of alpha and size",
          lambda n: n.dtype() == "float64"),
    Known(_REFERENCE, "LpNormalization", _OTHER,
          "the 1-norm is of absolute values; onnx.reference adds the values", lambda n: n.get("p", 2) == 1),
    Known(_REFERENCE, "ConvTranspose", _OTHER,
          "onnx.reference mixes the channels of groups, and reads outside where pads are negative (SAME, output_shape)",
          lambda n: n.get("group", 1) > 1 or _same(n) or n.get("output_shape")),
    Known(_REFERENCE, "Resize Upsample", _OTHER,
          "'floor(input_dimension * scale)' of float32 numbers; onnx.reference multiplies in float64",
          lambda n: len(n.inputs) < 4),
    Known(_REFERENCE, "SoftmaxCrossEntropyLoss", _OTHER,
          "the logarithm of Softmax is finite; onnx.reference takes it of an exponential that is 0",
          lambda n: not np.isfinite(n.outputs[0]).all()),
    Known(_REFERENCE, "RoiAlign", _OTHER,
          "before operator set 16 boxes are not moved by half a pixel; onnx.reference takes the newer default",
          lambda n: n.opset < 16),
    Known(_REFERENCE, "ReduceL2", _OTHER,
          "'the L2 norm of the input tensor's elements': it has a value if a square has none in float16; onnx.reference squares so",
          lambda n: n.dtype() == "float16" and not np.isfinite(n.outputs[0]).all()),
    Known(_REFERENCE, "Resize", _OTHER,
          "pytorch_half_pixel: 'length_resized > 1 ? (x_resized + 0.5) / scale - 0.5 : 0'; onnx.reference takes -0.5 for 0",
          lambda n: n.get("coordinate_transformation_mode") == "pytorch_half_pixel" and 1 in n.outputs[0].shape),
    Known(_REFERENCE, "Resize", _OTHER,
          "tf_crop_and_resize: 'length_resized > 1 ? ... : 0.5 * (start_x + end_x) * (length_original - 1)'; onnx.reference takes the "
          "product of length and scale for length_resized, a fraction if keep_aspect_ratio_policy chooses the scale",
          lambda n: n.get("coordinate_transformation_mode") == "tf_crop_and_resize" and
          n.get("keep_aspect_ratio_policy", "stretch") != "stretch"),
    Known(_REFERENCE, "Erf Gelu", _OTHER,
          "'Computes the error function of the given input tensor element-wise', of tensor(double) too; onnx.reference rounds it to "
          "float32", lambda n: n.dtype() == "float64"),
    Known(_REFERENCE, "HardSwish", "Ashlar",
          "'alpha * x + beta, where alpha = 1/6 and beta = 0.5'; onnx.reference takes float32's 1/6 for doubles",
          lambda n: n.dtype() == "float64"),
    Known(_REFERENCE, "GridSample", "Ashlar, ONNX Runtime and PyTorch",
          "border: 'use border values for out-of-bound grid locations'; onnx.reference moves a location as well, if it is more than "
          "half an element outside",
          lambda n: n.get("mode") in ("cubic", "bicubic") and n.get("padding_mode") == "border"),
    Known("both", "AffineGrid", "Ashlar and PyTorch",
          "'if align_corners=1, consider -1 and 1 to refer to the centers of the corner pixels': a single pixel is both corners, and "
          "their middle is 0; onnx.reference divides by 0, and ONNX Runtime takes 1",
          lambda n: n.get("align_corners") == 1 and 1 in n.inputs[1][2:]),
    Known(_RUNTIME, "Celu", "Ashlar and onnx.reference",
          "'max(0,x) + min(0,alpha*(exp(x/alpha)-1))': ONNX Runtime takes 1 from a Float32 exponential, which leaves no bits of small x",
          lambda n: np.abs(n.outputs[0]).min(initial=1) < 1e-6),
    Known(_REFERENCE, "LogSoftmax", _OTHER,
          "'LogSoftmax(input, axis) = Log(Softmax(input, axis=axis))': below -87 onnx.reference takes the logarithm of a subnormal number, "
          "which has few bits",
          lambda n: n.dtype() != "float64" and n.outputs[0].min(initial=0) < -87),
    Known(_REFERENCE, "OneHot", _OTHER,
          "'The locations represented by the index values in the indices input tensor will have on_value and the other locations will "
          "have off_value': onnx.reference computes off + (on - off), which rounds",
          lambda n: n.inputs[2].dtype.kind == "f"),
    Known("both", "OneHot", "Ashlar",
          "'In case indices is of non-integer type, the values will be casted to int64 before use': onnx.reference takes the remainder "
          "by the depth before it casts, ONNX Runtime compares fractions",
          lambda n: n.inputs[0].dtype.kind == "f"),
    Known("both", "Pow", "nobody: the result has no value",
          "the output has the type of the base, and an integer holds neither NaN nor infinity; both convert as the processor does",
          _has_no_integer),
    Known(_RUNTIME, "Col2Im", "Ashlar and onnx.reference",
          "rows of the input are 'C * n-ary-product(block_shape)', and block_shape is 'the block-shape before dilation': in 1 and 3 "
          "dimensions ONNX Runtime counts rows by the dilated block",
          lambda n: len(n.inputs[1]) != 2 and _spreads_blocks(n)),
    Known(_RUNTIME, "Attention", "Ashlar and onnx.reference",
          "is_causal: 'query i attends key j iff j <= i + past_sequence_length'; ONNX Runtime lets a single query see all keys",
          lambda n: n.get("is_causal") == 1 and _has_one_query(n)),
    Known(_RUNTIME, "QLinearSoftmax", "Ashlar and the softmax of the dequantized values in double precision",
          "QuantizeLinear rounds 'to nearest ties to even'; ONNX Runtime's table cuts off"),
    Known(_RUNTIME, "ReduceProd ReduceSum ReduceSumSquare ReduceL1", "Ashlar and onnx.reference",
          "integers beyond 2^53 stay integers: tensor(int64) is both the type of data and of reduced; ONNX Runtime computes in "
          "floating point, and cuts off at the largest integer", _reduces_beyond_doubles),
    Known(_RUNTIME, "Shrink", "Ashlar and onnx.reference",
          "'If x < -lambd, y = x + bias', of tensor(double) too; ONNX Runtime computes in float32", lambda n: n.dtype() == "float64"),
    Known(_RUNTIME, "Einsum", "Ashlar and onnx.reference",
          "integers beyond 2^53 stay integers: the output has the type of the inputs; ONNX Runtime sums an axis in floating point",
          _sums_beyond_doubles),
    Known(_RUNTIME, "LRN", "Ashlar and onnx.reference",
          "the sum of the squares of neighbours; ONNX Runtime adds and takes off squares as it goes, and keeps their rounding",
          lambda n: np.abs(n.inputs[0]).max() > 100),
    Known(_RUNTIME, "MaxPool AveragePool LpPool", "Ashlar; onnx.reference refuses or crops, too",
          "auto_pad SAME: 'pad the input so that': never less than nothing; ONNX Runtime takes rows off for strides above the kernel",
          lambda n: _same(n) and any(s > k for s, k in zip(n.get("strides", []), n.get("kernel_shape")))),
    Known(_RUNTIME, "Resize", "Ashlar and onnx.reference",
          "tf_crop_and_resize: 'x_original = start_x * (length_original - 1) + ...' for each dimension; ONNX Runtime takes no part of "
          "an axis that keeps its length", _crops_axes_of_one_length),
    Known(_RUNTIME, "Resize", "Ashlar and onnx.reference",
          "align_corners: ONNX's cases test_resize_downsample_scales_*_align_corners have the fractional length of an axis that a scale "
          "below 1 shrinks; ONNX Runtime takes the whole length, and leaves these cases out",
          lambda n: n.get("coordinate_transformation_mode") == "align_corners" and len(n.inputs) == 3 and (n.inputs[2] < 1).any()),
    Known(_RUNTIME, "Resize", "Ashlar and the formula in double precision",
          "'x_original = (x_resized + 0.5) / scale - 0.5' and its like: ONNX Runtime computes coordinates in Float32, whose rounding "
          "grows with the length", lambda n: n.get("mode") != "nearest" and max(n.outputs[0].shape) > 64),
    Known(_RUNTIME, "Pow", "Ashlar",
          "'1 / (1 + exp(-x))': ONNX Runtime's Sigmoid is exact to 1e-7 of 1 (0 for -20), which a small power of it shows",
          lambda n: n.dtype() == "float32" and 0 < n.inputs[0].min() < 1e-6 and n.inputs[1].min() < 1),
    Known("both", "Equal", "nobody: the last bit decides",
          "'equal' of a computed float and a constant that is its value in a reference: each rounds in its own way",
          _differs_by_rounding),
    Known("both", "Resize", "Ashlar, in double precision",
          "floor and ceil: a coordinate that is whole stays; a scale that is a rounded quotient of sizes, or Float32, puts it beside the "
          "number",
          lambda n: n.get("mode", "nearest") == "nearest" and n.get("nearest_mode") in ("floor", "ceil")),
    Known(_REFERENCE, "AveragePool", "Ashlar and ONNX Runtime",
          "ceil_mode adds a window at the end, which begins inside the input; onnx.reference pads both ends "
          "for it, which moves all windows",
          lambda n: n.get("ceil_mode") == 1),
    Known(_REFERENCE, "Resize", "Ashlar and ONNX Runtime",
          "exclude_outside 0: 'the border repeats' (edge values); onnx.reference takes other elements where an axis has fewer than four",
          lambda n: n.get("mode") == "cubic" and min(n.inputs[0].shape) < 4),
    Known(_RUNTIME, "Resize", "Ashlar and onnx.reference",
          "cubic: 'scales' of each axis; ONNX Runtime takes the last two axes of four for the image, and leaves zeros if others change",
          lambda n: n.get("mode") == "cubic" and n.inputs[0].shape[:-2] != n.outputs[0].shape[:-2]),
    Known("both", "Mod", "nobody: rounding before it", "the remainder of a computed number has the rounding of the number",
          lambda n: n.dtype() == "float32" and not n.constant),
    Known("both", "ReduceMin ReduceMax", "nobody: rounding before it",
          "the least of sums is small beside the others: it has the rounding of their size",
          lambda n: n.dtype() == "float32" and np.abs(n.outputs[0]).max() < 1e-2 * np.abs(n.inputs[0]).max()),
    Known(_RUNTIME, "Ceil Sign Log Reciprocal FusedConv", "Ashlar",
          "'1 / (1 + exp(-x))' is above 0: ONNX Runtime's Sigmoid is 0 for -20, which functions with a step or a pole there show",
          lambda n: n.dtype() == "float32" and (np.abs((n.outputs if n.op == "FusedConv" else n.inputs)[0]) < 1e-6).any()),
    Known(_REFERENCE, "ConvTranspose Gemm MatMul", "Ashlar, in Float32, and ONNX Runtime",
          "the sum of products is in the range of float16: onnx.reference adds up in float16, where a part of the sum overflows",
          lambda n: n.dtype() == "float16" and np.nanmax(np.abs(n.outputs[0])) > 3e4),
    Known("both", "LpNormalization", "nobody: 1 is right",
          "the square of a subnormal number is 0 in Float32: both give 0, Ashlar divides by the smallest normal number",
          lambda n: n.dtype() == "float32" and ((n.inputs[0] != 0) & (np.abs(n.inputs[0]) < 1e-19)).any()),
    Known(_REFERENCE, "LpNormalization", "Ashlar, in Float32",
          "the norm of float16 numbers is in their range, and its square is not: onnx.reference takes it for infinite",
          lambda n: n.dtype() == "float16" and np.abs(n.inputs[0]).max() > 100),
    Known(_REFERENCE, "MeanVarianceNormalization", "Ashlar and the formula in double precision",
          "'(X-EX)/sqrt(E(X-EX)^2)': onnx.reference computes the mean of squares less the square of the mean in Float32, which loses "
          "digits where the mean is larger than the deviation", _is_far_from_zero),
    Known(_RUNTIME, "InstanceNormalization", "Ashlar and onnx.reference",
          "'y = scale * (x - mean) / sqrt(variance + epsilon) + B'; ONNX Runtime loses digits where the mean is large or the "
          "variance small"),
    Known(_RUNTIME, "ConvTranspose", "Ashlar and onnx.reference",
          "auto_pad SAME: 'output_shape[i] = input_shape[i] * strides[i]'; ONNX Runtime gives less for kernels below the stride",
          _same),
    Known(_RUNTIME, "MatMulInteger ConvInteger QLinearConv QLinearMatMul", "Ashlar and onnx.reference",
          "sums in 32 bits; ONNX Runtime's sums of pairs saturate at 16 bits without VNNI (its documentation of quantisation)",
          _wide),
]
