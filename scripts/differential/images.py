"""Operators on images: convolutions, pools, resizing, sampling, rearrangement of channels."""
import numpy as np

from .builder import FLOATS, Skip
from .registry import operator, operators


def window(b, op, shape, kernel=None, dilated=True, same=True):
    """Attributes of a window over the spatial dimensions, which it fits into."""
    space = shape[2:]
    n = len(space)
    kernel = kernel or [b.integer(1, min(4, d)) for d in space]
    dilations = [b.integer(1, 2) if (k - 1) * 2 + 1 <= d else 1 for k, d in zip(kernel, space)] if (
        dilated and b.has(op, "dilations") and b.chance(0.3)) else None
    strides = [b.integer(1, 3) for _ in range(n)] if b.chance(0.5) else None
    auto = b.pick(None, None, None, "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID") if same else None
    pads = None
    if auto in (None, "NOTSET") and b.chance(0.6):
        pads = [b.integer(0, min(2, k - 1)) for k in kernel] * 2
        if b.chance(0.4):
            pads = [b.integer(0, k - 1) for k in kernel + kernel]
    if auto and auto.startswith("SAME"):
        dilations = None
    return {"kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": dilations, "auto_pad": auto}


def is_image(b, v):
    return 3 <= v.rank <= 5 and all(d >= 1 for d in v.shape)


def image_of(b, op, index=0, **data):
    return b.take(op, index, FLOATS, 3, 5, shape=b.image, **data)


@operator("Conv", weight=6)
def conv(b, op):
    x = image_of(b, op)
    channels = x.shape[1]
    group = b.pick(1, 1, *[g for g in range(1, channels + 1) if channels % g == 0][-2:])
    out = group * b.pick(1, 2, 3, 4) if group > 1 else b.pick(1, 2, 3, 5, 8, 16)
    attributes = window(b, op, x.shape)
    w = b.weight(x.dtype, (out, channels // group, *attributes["kernel_shape"]))
    bias = b.weight(x.dtype, (out,)) if b.chance(0.5) else None
    if b.chance(0.3):
        attributes["kernel_shape"] = None
    return b.node(op, x, w, bias, group=group if group > 1 or b.chance(0.3) else None, **attributes)


@operator("FusedConv:com.microsoft")
def fused_conv(b, op):
    x = b.take("Conv", 0, ("float32",), 4, 4, shape=lambda: b.image(4))
    out = b.integer(1, 5)
    attributes = {k: v for k, v in window(b, "Conv", x.shape).items() if v is not None}
    w = b.weight("float32", (out, x.shape[1], *attributes["kernel_shape"]))
    activation, parameters = b.pick(("Relu", None), ("Sigmoid", None), ("Tanh", None), ("LeakyRelu", [0.2]),
                                    ("Clip", [-0.5, 1.0]), ("HardSigmoid", [0.3, 0.4]))
    return b.node("FusedConv", x, w, b.weight("float32", (out,)), domain="com.microsoft", activation=activation,
                  activation_params=parameters, **attributes)


@operator("ConvTranspose", weight=3)
def conv_transpose(b, op):
    x = image_of(b, op)
    group = b.pick(1, 1, *[g for g in range(1, x.shape[1] + 1) if x.shape[1] % g == 0][-2:])
    n = x.rank - 2
    kernel = [b.integer(1, 4) for _ in range(n)]
    strides = [b.integer(1, 3) for _ in range(n)] if b.chance(0.6) else None
    dilations = [b.integer(1, 2) for _ in range(n)] if b.chance(0.3) else None
    auto = b.pick(None, None, None, "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
    pads = [b.integer(0, (k - 1) // 2) for k in kernel * 2] if auto in (None, "NOTSET") and b.chance(0.5) else None
    extra = [b.integer(0, max((strides or [1] * n)[i], 1) - 1) for i in range(n)] if b.chance(0.3) else None
    if auto and auto.startswith("SAME"):
        extra = dilations = None
    w = b.weight(x.dtype, (x.shape[1], b.integer(1, 3), *kernel))
    bias = b.weight(x.dtype, (w.shape[1] * group,)) if b.chance(0.5) else None
    shape = None
    if auto in (None, "NOTSET") and pads is None and b.chance(0.15):
        full = [(d - 1) * (strides or [1] * n)[i] + (kernel[i] - 1) * (dilations or [1] * n)[i] + 1 + (extra or [0] * n)[i]
                for i, d in enumerate(x.shape[2:])]
        shape = [max(1, f - b.integer(0, 2)) for f in full]
    return b.node(op, x, w, bias, group=group if group > 1 else None, strides=strides, dilations=dilations, auto_pad=auto,
                  pads=pads, output_padding=extra, output_shape=shape, kernel_shape=kernel if b.chance(0.7) else None)


@operators("MaxPool", "AveragePool", "LpPool", weight=3)
def pool(b, op):
    x = b.take(op, 0, low_rank=3, high_rank=5, shape=b.image)
    two = op == "MaxPool" and b.opset >= 8 and not b.chain and b.chance(0.3)
    results = b.node(op, x, outputs=2 if two else 1, ceil_mode=b.pick(None, 0, 1, 1),
                     count_include_pad=b.pick(None, 0, 1), p=b.pick(None, 1, 2, 3) if op == "LpPool" else None,
                     storage_order=b.pick(None, 0) if op == "MaxPool" else None, **window(b, op, x.shape))
    return results


@operators("GlobalAveragePool", "GlobalMaxPool")
def global_pool(b, op):
    return b.node(op, image_of(b, op))


@operator("MaxUnpool", chain=False)
def unpool(b, op):
    x = b.new("float32", (b.integer(1, 2), b.integer(1, 3), 2 * b.integer(1, 4), 2 * b.integer(1, 4)))
    kernel, strides = [2, 2], [2, 2]
    values, places = b.node("MaxPool", x, outputs=2, kernel_shape=kernel, strides=strides)
    shape = b.ints(*x.shape) if b.chance(0.4) else None
    return b.node(op, values, places, shape, kernel_shape=kernel, strides=strides)


@operator("LRN")
def lrn(b, op):
    return b.node(op, image_of(b, op), size=b.pick(1, 3, 5), alpha=b.pick(None, 0.5, 1.0), beta=b.pick(None, 0.5, 0.9),
                  bias=b.pick(None, 2.0))


@operators("DepthToSpace", "SpaceToDepth")
def rearrange(b, op):
    block = b.pick(2, 3)
    deep = op == "DepthToSpace"

    def shape():
        n, c, h, w = b.integer(1, 2), b.integer(1, 3), b.integer(1, 4), b.integer(1, 4)
        return (n, c * block * block, h, w) if deep else (n, c, h * block, w * block)

    x = b.take(op, 0, low_rank=4, high_rank=4, shape=shape, fits=lambda v: v.shape[1] % block**2 == 0
               if deep else v.shape[2] % block == 0 and v.shape[3] % block == 0)
    return b.node(op, x, blocksize=block, mode=b.pick(None, "DCR", "CRD"))


@operator("Resize", weight=6)
def resize(b, op):
    x = b.take(op, 0, ("float32", "float32", "uint8", "int8"), 1, 5, shape=lambda: b.pick(b.image(4), b.image(), b.shape(1, 4)))
    mode = b.pick("nearest", "linear", "cubic") if b.opset >= 11 else b.pick("nearest", "linear")
    if mode == "cubic" and x.rank != 4:
        raise Skip("cubic")
    rank = x.rank
    axes = None
    if b.opset >= 18 and b.chance(0.3):
        axes = sorted(int(a) for a in b.rng.choice(rank, b.integer(1, rank), replace=False))
    which = range(rank) if axes is None else axes
    wanted = [b.integer(1, 2 * x.shape[a] + 1) if a >= 2 or rank < 3 or b.chance(0.05) else x.shape[a] for a in which]
    scales = [w / x.shape[a] if b.chance(0.4) else b.pick(0.5, 1.5, 2.0, 0.7, 3.0, 1.0)
              if w != x.shape[a] else 1.0 for w, a in zip(wanted, which)]
    if b.opset < 11:
        return b.node(op, x, b.constant(np.array(scales, np.float32)), mode=mode)
    where = b.pick(None, "half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric",
                   "tf_half_pixel_for_nn" if b.opset < 13 else None, "tf_crop_and_resize")
    if where == "half_pixel_symmetric" and b.opset < 19:
        raise Skip("mode")
    roi = None
    if where == "tf_crop_and_resize":
        count = len(list(which))
        begin = b.data("float32", (count,), low=0.0, high=0.4)
        end = b.data("float32", (count,), low=0.6, high=1.2)
        # Most axes that keep their length are taken whole: ONNX Runtime never crops such an axis (known.py).
        whole = np.array([w == x.shape[a] for w, a in zip(wanted, which)]) & (begin > 0.02)
        begin[whole], end[whole] = 0, 1
        roi = b.constant(np.concatenate([begin, end]).astype(np.float32))
    by_sizes = b.chance(0.5)
    empty = b.constant(np.zeros(0, np.float32)) if b.opset < 13 else None
    attributes = {
        "mode": mode, "coordinate_transformation_mode": where, "axes": axes,
        "nearest_mode": b.pick(None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil") if mode == "nearest" else None,
        "cubic_coeff_a": b.pick(None, -0.5) if mode == "cubic" else None,
        "exclude_outside": b.pick(None, 0, 1) if mode == "cubic" else None,
        "extrapolation_value": b.pick(None, 1.5) if roi else None,
        "antialias": b.pick(None, None, 0, 1) if mode != "nearest" and b.opset >= 18 else None,
        "keep_aspect_ratio_policy": b.pick(None, None, "stretch", "not_larger", "not_smaller") if by_sizes else None}
    roi = roi or empty
    if by_sizes:
        return b.node(op, x, roi, empty, b.ints(*wanted), **attributes)
    return b.node(op, x, roi, b.constant(np.array(scales, np.float32)), **attributes)


@operator("Upsample")
def upsample(b, op):
    x = b.take(op, 0, ("float32",), 4, 4, shape=lambda: b.image(4))
    scales = [1.0, 1.0, b.pick(1.0, 2.0, 3.0, 1.5), b.pick(1.0, 2.0, 1.5)]
    mode = b.pick(None, "nearest", "linear")
    if b.opset < 9:
        return b.node(op, x, scales=scales, mode=mode)
    return b.node(op, x, b.constant(np.array(scales, np.float32)), mode=mode)


@operator("GridSample")
def grid_sample(b, op):
    x = b.take(op, 0, ("float32",), 4, 5, shape=lambda: b.image(b.pick(4, 4, 5)))
    n = x.rank - 2
    if n == 3 and b.opset < 20:
        raise Skip("3 dimensions")
    grid = b.new("float32", (x.shape[0], *[b.integer(1, 6) for _ in range(n)], n), low=-1.4, high=1.4)
    modes = ("bilinear", "nearest", "bicubic") if b.opset < 20 else ("linear", "nearest", "cubic")
    return b.node(op, x, grid, mode=b.pick(None, *modes[:2 if n == 3 else 3]),
                  padding_mode=b.pick(None, "zeros", "border", "reflection"), align_corners=b.pick(None, 0, 1))


@operator("AffineGrid", chain=False)
def affine_grid(b, op):
    n = b.pick(2, 2, 3)
    batch = b.integer(1, 2)
    theta = b.new("float32", (batch, n, n + 1))
    return b.node(op, theta, b.ints(batch, 2, *[b.integer(1, 5) for _ in range(n)]), align_corners=b.pick(None, 0, 1))


@operator("Col2Im", chain=False)
def col2im(b, op):
    n = b.pick(1, 2, 2, 3)
    image = [b.integer(3, 7) for _ in range(n)]
    attributes = window(b, op, (1, 1, *image), same=False)
    block = attributes.pop("kernel_shape")
    pads, strides, dilations = (attributes["pads"] or [0] * 2 * n, attributes["strides"] or [1] * n,
                                attributes["dilations"] or [1] * n)
    blocks = 1
    for i in range(n):
        blocks *= (image[i] + pads[i] + pads[n + i] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1
    x = b.new("float32", (b.integer(1, 2), b.integer(1, 3) * int(np.prod(block)), blocks))
    attributes.pop("auto_pad")
    return b.node(op, x, b.ints(*image), b.ints(*block), **attributes)


@operator("DeformConv", chain=False)
def deform_conv(b, op):
    shape = (b.integer(1, 2), b.pick(1, 2, 4), b.integer(3, 7), b.integer(3, 7))
    attributes = window(b, op, shape, same=False)
    kernel = attributes["kernel_shape"]
    pads, strides, dilations = attributes["pads"] or [0] * 4, attributes["strides"] or [1, 1], attributes["dilations"] or [1, 1]
    space = [(shape[2 + i] + pads[i] + pads[2 + i] - dilations[i] * (kernel[i] - 1) - 1) // strides[i] + 1 for i in range(2)]
    group = b.pick(1, shape[1])
    offset_group = b.pick(1, shape[1])
    w = b.weight("float32", (group * b.integer(1, 2), shape[1] // group, *kernel))
    offset = b.new("float32", (shape[0], offset_group * 2 * kernel[0] * kernel[1], *space), low=-1.5, high=1.5)
    bias = b.weight("float32", (w.shape[0],)) if b.chance(0.4) else None
    mask = b.new("float32", (shape[0], offset_group * kernel[0] * kernel[1], *space)) if b.chance(0.4) else None
    attributes["auto_pad"] = None
    return b.node(op, b.new("float32", shape), w, offset, bias, mask, group=group, offset_group=offset_group, **attributes)


@operator("RoiAlign", chain=False)
def roi_align(b, op):
    x = b.new("float32", (b.integer(1, 2), b.integer(1, 3), b.integer(4, 9), b.integer(4, 9)))
    count = b.integer(1, 4)
    begin = b.data("float32", (count, 2), low=0.0, high=3.0)
    rois = b.constant(np.concatenate([begin, begin + b.data("float32", (count, 2), low=0.5, high=5.0)], 1).astype(np.float32))
    batches = b.constant(b.data("int64", (count,), low=0, high=x.shape[0] - 1))
    return b.node(op, x, rois, batches, output_height=b.pick(None, 1, 3), output_width=b.pick(None, 2, 3),
                  sampling_ratio=b.pick(1, 2, 3, 0), spatial_scale=b.pick(None, 0.5, 1.0), mode=b.pick(None, "avg", "max"),
                  coordinate_transformation_mode=b.pick(None, "half_pixel", "output_half_pixel"))


@operator("CenterCropPad")
def center_crop_pad(b, op):
    x = b.take(op, low_rank=1)
    axes = None
    count = x.rank
    if b.chance(0.5):
        axes = [int(a) for a in b.rng.choice(x.rank, b.integer(1, x.rank), replace=False)]
        count = len(axes)
    return b.node(op, x, b.ints(*[b.integer(1, 7) for _ in range(count)]), axes=axes)
