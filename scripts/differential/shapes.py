"""Operators that move elements: reshaping, slicing, gathering, scattering, joining, sequences."""
import numpy as np
from onnx import helper

from .builder import FLOATS, Skip, allowed
from .registry import operator, operators


@operator("Reshape", weight=2)
def reshape(b, op):
    x = b.take(op)
    factors, rest = [], x.array.size
    for prime in (2, 3, 5, 7, 11, 13):
        while rest % prime == 0 and rest > 1:
            factors.append(prime)
            rest //= prime
    shape = [1] * b.integer(1, 5)
    for f in factors + [rest]:
        shape[b.integer(0, len(shape) - 1)] *= f
    if b.chance(0.4) and x.array.size:
        shape[b.integer(0, len(shape) - 1)] = -1
    for i in range(min(len(shape), x.rank)):
        if shape[i] == x.shape[i] and b.chance(0.5):
            shape[i] = 0
    return b.node(op, x, b.ints(*shape))


@operator("Flatten")
def flatten(b, op):
    x = b.take(op, low_rank=1)
    return b.node(op, x, axis=b.pick(None, b.integer(0 if b.opset < 11 else -x.rank, x.rank)))


@operator("Transpose", weight=2)
def transpose(b, op):
    x = b.take(op)
    return b.node(op, x, perm=None if b.chance(0.2) else [int(i) for i in b.rng.permutation(x.rank)])


def axes_of(b, op, axes):
    """Axes as an attribute or an input, as the operator set has them: (input or None, attribute or None)."""
    if axes is None:
        return None, None
    return (None, axes) if b.has(op, "axes") else (b.ints(*axes), None)


@operator("Squeeze")
def squeeze(b, op):
    x = b.take(op, shape=lambda: tuple(d if b.chance(0.5) else 1 for d in b.shape(1, 5)),
               fits=lambda v: 1 in v.shape, low_rank=1)
    ones = [i for i, d in enumerate(x.shape) if d == 1]
    if not ones:
        raise Skip("nothing to squeeze")
    axes = [i - x.rank if b.opset >= 11 and b.chance(0.3) else i for i in ones if b.chance(0.7)] or None
    given, attribute = axes_of(b, op, axes)
    return b.node(op, x, given, axes=attribute)


@operator("Unsqueeze")
def unsqueeze(b, op):
    x = b.take(op, high_rank=4)
    count = b.integer(1, 2)
    axes = [int(a) for a in b.rng.choice(x.rank + count, count, replace=False)]
    axes = sorted(axes) if b.opset < 11 else [a - x.rank - count if b.chance(0.3) else a for a in axes]
    given, attribute = axes_of(b, op, axes)
    return b.node(op, x, given, axes=attribute)


@operator("Expand")
def expand(b, op):
    x = b.take(op, high_rank=4, shape=lambda: tuple(1 if b.chance(0.5) else d for d in b.shape(0, 4)))
    shape = [b.integer(1, 4) if d == 1 else b.pick(d, 1) for d in x.shape]
    shape = ([b.integer(1, 3)] if b.chance(0.3) else []) + shape
    return b.node(op, x, b.ints(*shape))


@operator("Tile")
def tile(b, op):
    if b.opset < 6:
        raise Skip("other inputs")
    x = b.take(op, low_rank=1, high_rank=4)
    return b.node(op, x, b.ints(*[b.integer(1, 3) for _ in range(x.rank)]))


@operator("Concat", weight=3)
def concat(b, op):
    x = b.take(op, low_rank=1)
    axis = b.axis(x.rank, None if b.opset >= 11 else 0)
    others = []
    for _ in range(b.pick(0, 1, 1, 2, 3)):
        at = axis % x.rank
        fits = lambda v: v.rank == x.rank and all(i == at or v.shape[i] == x.shape[i] for i in range(x.rank))
        found = b.existing([x.dtype], fits) if b.chain and b.chance(0.8) else None
        others.append(found or b.new(x.dtype, tuple(b.integer(1, 4) if i == at else d for i, d in enumerate(x.shape))))
    operands = [x] + others
    return b.node(op, *[operands[int(i)] for i in b.rng.permutation(len(operands))], axis=axis)


@operator("Split", weight=1.5)
def split(b, op):
    x = b.take(op, low_rank=1, fits=lambda v: max(v.shape) > 1)
    axis = b.axis(x.rank, None if b.opset >= 11 else 0)
    length = x.shape[axis]
    parts = b.integer(1, min(3, length))
    if b.chance(0.4) and (length % parts == 0 or b.opset >= 18):
        if b.opset >= 18 and -(-length // parts) * (parts - 1) >= length:
            raise Skip("an empty part")
        return b.node(op, x, outputs=parts, axis=axis, num_outputs=parts if b.opset >= 18 else None)
    cuts = sorted(int(c) for c in b.rng.choice(np.arange(1, length), parts - 1, replace=False)) if parts > 1 else []
    sizes = [hi - lo for lo, hi in zip([0] + cuts, cuts + [length])]
    if b.opset >= 13:
        return b.node(op, x, b.ints(*sizes), outputs=parts, axis=axis)
    return b.node(op, x, outputs=parts, axis=axis, split=sizes)


@operator("Slice", weight=3)
def slice_(b, op):
    x = b.take(op, low_rank=1)
    axes = [int(a) for a in b.rng.choice(x.rank, b.integer(1, x.rank), replace=False)]
    starts, ends, steps = [], [], []
    for a in axes:
        length = x.shape[a]
        step = b.pick(1, 1, 1, 2, 3, -1, -2) if b.opset >= 10 else 1
        low, high = sorted(int(v) for v in b.rng.choice(length + 1, 2, replace=False))
        start, end = (low, high) if step > 0 else (high - 1, low - 1)
        if end < 0:
            end = -length - 1
        elif end >= length and b.chance(0.5):
            end = b.pick(1000, np.iinfo(np.int32).max, np.iinfo(np.int64).max)
        elif 0 < end < length and b.chance(0.3):
            end -= length
        starts.append(start - length if b.chance(0.3) else start)
        ends.append(end)
        steps.append(step)
    if b.opset < 10:
        return b.node(op, x, starts=starts, ends=ends, axes=axes)
    given = [a - x.rank if b.chance(0.3) else a for a in axes]
    if axes == list(range(len(axes))) and b.chance(0.3):
        given = None
    steps = b.ints(*steps) if any(s != 1 for s in steps) or b.chance(0.3) else None
    return b.node(op, x, b.ints(*starts), b.ints(*ends),
                  b.ints(*axes) if given is None and steps else b.ints(*given) if given else None, steps)


@operator("Pad", weight=3)
def pad(b, op):
    x = b.take(op, low_rank=1)
    modes = ("constant", "reflect", "edge") + (("wrap",) if b.opset >= 19 else ())
    mode = b.pick(None, *modes)
    axes = list(range(x.rank))
    if b.opset >= 18 and b.chance(0.3):
        axes = [int(a) for a in b.rng.choice(x.rank, b.integer(1, x.rank), replace=False)]
    def amount(a):
        most = x.shape[a] - 1 if mode == "reflect" else x.shape[a] if mode == "wrap" else 3
        return b.integer(0, min(3, most)) if b.chance(0.6) else 0
    pads = [amount(a) for a in axes + axes]
    if mode in (None, "constant") and b.chance(0.2):
        i = b.integer(0, len(axes) - 1)
        pads[i] = -b.integer(0, (x.shape[axes[i]] - 1) // 2)
    value = b.data(x.dtype, ())
    if b.opset < 11:
        return b.node(op, x, pads=pads, paddings=pads, mode=mode, value=float(value) if b.chance(0.5) else None)
    with_axes = len(axes) < x.rank or (b.opset >= 18 and b.chance(0.2))
    return b.node(op, x, b.ints(*pads), b.constant(value) if b.chance(0.6) else None,
                  b.ints(*axes) if with_axes else None, mode=mode)


@operators("Shape", "Size", chain=False)
def shape_of(b, op):
    x = b.take(op)
    if op == "Size":
        return b.node(op, x)
    return b.node(op, x, start=b.pick(None, b.integer(-5, 3)), end=b.pick(None, b.integer(-4, 5)))


def indices(b, length, shape, constant=None):
    low = -length if b.opset >= 11 else 0
    return b.new(b.pick("int64", "int64", "int32"), shape, constant=b.chance(0.6) if constant is None else constant, low=low,
                 high=length - 1)


@operator("Gather", weight=2)
def gather(b, op):
    x = b.take(op, low_rank=1)
    axis = b.axis(x.rank, None if b.opset >= 11 else 0)
    return b.node(op, x, indices(b, x.shape[axis], b.shape(0, 2)), axis=axis if axis or b.chance(0.5) else None)


@operator("GatherElements")
def gather_elements(b, op):
    x = b.take(op, low_rank=1, high_rank=4)
    axis = b.axis(x.rank)
    shape = tuple(b.integer(1, 4) if i == axis % x.rank else b.integer(1, d) for i, d in enumerate(x.shape))
    return b.node(op, x, indices(b, x.shape[axis], shape), axis=axis)


@operator("GatherND")
def gather_nd(b, op):
    x = b.take(op, low_rank=1)
    batch = b.integer(0, x.rank - 1) if b.opset >= 12 and b.chance(0.4) else 0
    batch = min(batch, 2)
    depth = b.integer(1, x.rank - batch)
    shape = x.shape[:batch] + b.shape(0 if batch else 1, 2)
    columns = [b.data("int64", shape, low=-x.shape[batch + i], high=x.shape[batch + i] - 1) for i in range(depth)]
    return b.node(op, x, b.constant(np.stack(columns, -1)), batch_dims=batch or None)


@operators("ScatterElements", "Scatter")
def scatter_elements(b, op):
    x = b.take(op, low_rank=1, high_rank=4)
    axis = b.axis(x.rank, None if b.opset >= 11 else 0)
    at = axis % x.rank
    reductions = ("none",) + (("add", "mul") if b.opset >= 16 else ()) + (("max", "min") if b.opset >= 18 else ())
    reduction = b.pick(None, *reductions) if op != "Scatter" and x.dtype != "bool" else None
    shape = tuple(b.integer(1, d) for d in x.shape)
    low = -x.shape[at] if op != "Scatter" else 0
    if reduction in (None, "none"):  # no place twice
        order = b.rng.permuted(np.broadcast_to(
            np.arange(x.shape[at]).reshape([-1 if i == at else 1 for i in range(x.rank)]), x.shape), axis=at)
        places = order[tuple(slice(0, d) for d in shape)]
        places = np.where(b.rng.random(shape) < 0.3, places + low, places)
    else:
        places = b.data("int64", shape, low=low, high=x.shape[at] - 1)
    return b.node(op, x, b.constant(places.astype(b.pick(np.int64, np.int32))), b.new(x.dtype, shape), axis=axis,
                  reduction=reduction)


@operator("ScatterND")
def scatter_nd(b, op):
    x = b.take(op, low_rank=1, high_rank=4)
    depth = b.integer(1, x.rank)
    reductions = ("none",) + (("add", "mul") if b.opset >= 16 else ()) + (("max", "min") if b.opset >= 18 else ())
    reduction = b.pick(None, *reductions) if x.dtype != "bool" else None
    places = int(np.prod(x.shape[:depth]))
    count = b.integer(1, min(5, places))
    chosen = b.rng.choice(places, count, replace=reduction not in (None, "none"))
    columns = np.stack(np.unravel_index(chosen, x.shape[:depth]), -1).astype(np.int64)
    return b.node(op, x, b.constant(columns), b.new(x.dtype, (count,) + x.shape[depth:]), reduction=reduction)


@operator("TopK", weight=1.5)
def top_k(b, op):
    x = b.take(op, low_rank=1)
    if x.array.size != np.unique(x.array).size and not b.chance(0.3):
        pass  # equal elements: the lower index first
    axis = b.axis(x.rank)
    k = b.integer(1, x.shape[axis])
    if b.opset < 10:
        return b.node(op, x, outputs=2, k=k, axis=axis)
    return b.node(op, x, b.ints(k), outputs=2, axis=axis, largest=b.pick(None, 0, 1), sorted=b.pick(None, 1))


@operators("ArgMax", "ArgMin")
def arg_max(b, op):
    x = b.take(op, low_rank=1)
    return b.node(op, x, axis=b.pick(None, b.axis(x.rank, None if b.opset >= 11 else 0)), keepdims=b.pick(None, 0, 1),
                  select_last_index=b.pick(None, 0, 1))


@operator("OneHot", chain=False)
def one_hot(b, op):
    depth = b.integer(1, 6)
    low = -depth - 1 if b.opset >= 11 else 0
    dtype = b.dtype(op, 0)
    to_integers = (lambda array: np.round(array, out=array)) if dtype == "float32" else None
    x = b.new(dtype, b.shape(0, 3), change=to_integers, low=low, high=depth)
    values = b.data(b.dtype(op, 2), (2,))
    return b.node(op, x, b.constant(np.array(b.pick(depth, [depth]), np.int64)), b.constant(values),
                  axis=b.pick(None, b.integer(-x.rank - 1, x.rank)))


@operator("Compress", chain=False)
def compress(b, op):
    x = b.take(op, low_rank=1)
    axis = b.pick(None, b.axis(x.rank, None if b.opset >= 11 else 0))
    length = x.array.size if axis is None else x.shape[axis]
    condition = b.data("bool", (b.integer(1, length),))
    condition[0] = True
    return b.node(op, x, b.constant(condition), axis=axis)


@operator("ReverseSequence")
def reverse_sequence(b, op):
    x = b.take(op, low_rank=2)
    batch, time = b.pick((None, None), (0, 1), (1, 0))
    at, length = (1, 0) if batch is None else (batch, time)
    return b.node(op, x, b.new("int64", (x.shape[at],), low=1, high=x.shape[length]), batch_axis=batch, time_axis=time)


@operator("Trilu")
def trilu(b, op):
    x = b.take(op, low_rank=2)
    return b.node(op, x, b.constant(np.array(b.integer(-4, 4), np.int64)) if b.chance(0.6) else None, upper=b.pick(None, 0, 1))


@operator("EyeLike", chain=False)
def eye_like(b, op):
    x = b.take(op, low_rank=2, high_rank=2)
    to = b.pick(None, *[d for d in allowed(op, b.opset, 0)])
    return b.node(op, x, k=b.pick(None, -1, 2), dtype=to and helper.np_dtype_to_tensor_dtype(np.dtype(to)))


@operators("Range", "ConstantOfShape", "NonZero", "Constant", "HannWindow", "HammingWindow", "BlackmanWindow", chain=False)
def of_constants(b, op):
    """Adds operators that read only constants, and adds their result to an input."""
    if op == "Range":
        dtype = b.dtype(op, 0, ("float32", "int64", "int32"))
        step = b.pick(1, 2, -1, 3)
        begin = b.integer(-5, 5)
        value = b.node(op, *[b.constant(np.array(v, dtype)) for v in (begin, begin + step * b.integer(1, 6), step)])
    elif op == "ConstantOfShape":
        filled = None
        dtype = b.pick("float32", "int64", "int32", "uint8", "bool")
        if b.chance(0.7):
            filled = helper.make_tensor("v", helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), [1], b.data(dtype, (1,)))
        value = b.node(op, b.ints(*b.shape(0, 3)), value=filled)
    elif op == "NonZero":
        value = b.node(op, b.constant(b.data(b.dtype(op), b.shape(1, 3))))
        if value.array.size == 0:
            raise Skip("nothing")
    elif op == "Constant":
        kind = b.pick("value", "value_float", "value_floats", "value_int", "value_ints")
        given = {"value": lambda: helper.make_tensor("v", 1, [2, 2], b.data("float32", (4,))), "value_float": lambda: 1.5,
                 "value_floats": lambda: [1.5, -2.25], "value_int": lambda: -7, "value_ints": lambda: [3, -4, 1 << 60]}
        if not b.has(op, kind):
            raise Skip(kind)
        value = b.node(op, **{kind: given[kind]()})
    else:
        value = b.node(op, b.constant(np.array(b.integer(1, 12), b.pick(np.int64, np.int32))), periodic=b.pick(None, 0, 1),
                       output_datatype=b.pick(None, 1, 1, 10, 11))
    if value.dtype == "bool":
        return b.node("Not", value)
    return b.node("Add", value, b.new(value.dtype, b.broadcastable(value.shape), constant=False))


@operators("SplitToSequence", "SequenceConstruct", "SequenceInsert", "SequenceErase", "SequenceAt", "SequenceLength",
           "SequenceEmpty", "ConcatFromSequence", chain=False)
def sequences(b, op):
    """Tensors that go through a sequence and come out as one tensor."""
    if b.opset < 11:
        raise Skip("no sequences")
    dtype = b.pick("float32", "int64")
    shape = (b.integer(2, 5), b.integer(1, 4), b.integer(1, 3))
    if op == "SplitToSequence":
        x = b.new(dtype, shape)
        axis = b.integer(-3, 2)
        sizes = None
        if b.chance(0.4):
            sizes = b.constant(np.array(b.integer(1, 2), np.int64))
        elif b.chance(0.5):
            first = b.integer(1, shape[axis])
            sizes = b.ints(*([first, shape[axis] - first] if first < shape[axis] else [first]))
        sequence = b.node(op, x, sizes, axis=axis, keepdims=b.pick(None, 0, 1) if sizes is None else None)
        return b.node("SequenceAt", sequence, b.constant(np.array(b.pick(0, -1), np.int64)))
    parts = [b.new(dtype, shape) for _ in range(b.integer(1, 4))]
    if op == "SequenceEmpty":
        sequence = b.node(op, dtype=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
        for part in parts:
            sequence = b.node("SequenceInsert", sequence, part)
    else:
        sequence = b.node("SequenceConstruct", *parts)
    place = lambda n: b.constant(np.array(b.integer(-n, n - 1), b.pick(np.int64, np.int32)))
    if op == "SequenceInsert":
        sequence = b.node(op, sequence, b.new(dtype, shape), place(len(parts)) if b.chance(0.7) else None)
    elif op == "SequenceErase" and len(parts) > 1:
        sequence = b.node(op, sequence, place(len(parts)) if b.chance(0.7) else None)
    elif op == "SequenceLength":
        return b.node("Add", b.node(op, sequence), b.new("int64", (2,), constant=False))
    elif op == "SequenceAt":
        return b.node("Identity", b.node(op, sequence, place(len(parts))))
    new_axis = b.pick(None, 0, 1)
    return b.node("ConcatFromSequence", sequence, axis=b.integer(-3, 2), new_axis=new_axis)
