"""Products, reductions, normalisations, recurrent layers, attention, losses, transforms."""
import numpy as np

from .builder import FLOATS, Skip
from .registry import operator, operators
from .shapes import axes_of


@operator("MatMul", weight=4)
def matmul(b, op):
    x = b.take(op, 0, low_rank=1, high_rank=4)
    n = b.integer(1, 9)
    if x.rank == 1 or b.chance(0.15):
        shape = (x.shape[-1],) if b.chance(0.5) else (x.shape[-1], n)
    else:
        batch = b.broadcastable(x.shape[:-2]) if b.chance(0.5) else ()
        shape = (*batch, x.shape[-1], n)
    y = b.weight(x.dtype, shape)
    return b.node(op, x, y)


@operator("Gemm", weight=3)
def gemm(b, op):
    trans_a, trans_b = b.pick(None, 0, 1), b.pick(None, 0, 1)
    a = b.take(op, 0, low_rank=2, high_rank=2)
    m, k = a.shape[::-1] if trans_a else a.shape
    n = b.integer(1, 9)
    w = b.weight(a.dtype, (n, k) if trans_b else (k, n))
    c = None
    if b.opset < 11 or b.chance(0.7):
        c = b.weight(a.dtype, b.pick((n,), (1, n), (m, n), (m, 1), (), (1,)) if b.opset >= 7 else (m, n))
    scales = (None, 0.5, 2.0) if a.dtype in FLOATS else (None, 2.0)
    return b.node(op, a, w, c, transA=trans_a, transB=trans_b, alpha=b.pick(*scales), beta=b.pick(*scales))


@operator("FusedMatMul:com.microsoft")
def fused_matmul(b, op):
    x = b.take("MatMul", 0, ("float32",), 2, 4)
    trans_a, trans_b = b.pick(None, 0, 1), b.pick(None, 0, 1)
    k, n = x.shape[-2] if trans_a else x.shape[-1], b.integer(1, 6)
    y = b.weight("float32", (*x.shape[:-2], *((n, k) if trans_b else (k, n))))
    return b.node("FusedMatMul", x, y, domain="com.microsoft", transA=trans_a, transB=trans_b, alpha=b.pick(None, 0.5))


@operator("Einsum", weight=2)
def einsum(b, op):
    equation, *terms = b.pick(
        ("ij,jk->ik", "ij", "jk"), ("bij,bjk->bik", "bij", "bjk"), ("ij->ji", "ij"), ("ij->i", "ij"), ("ij->", "ij"),
        ("ii->i", "ii"), ("i,j->ij", "i", "j"), ("bhid,bhjd->bhij", "bhid", "bhjd"), ("ij,ij->ij", "ij", "ij"),
        ("abc,cd->abd", "abc", "cd"), ("ij,jk", "ij", "jk"), ("bn,anm,bm->ba", "bn", "anm", "bm"), ("ii", "ii"),
        ("...ij,...jk->...ik", "xij", "xjk"), ("...i->...", "xi"), ("i...->...i", "ix"), ("bhwc,hkc->bhwk", "bhwc", "hkc"))
    sizes = {letter: b.integer(1, 5) for letter in "".join(terms)}
    dtype = b.dtype(op, 0, ("float32", "float32", "int64", "int32"))
    operands = [b.new(dtype, tuple(sizes[letter] for letter in term)) for term in terms]
    if b.chain:
        found = b.existing([dtype], lambda v: v.rank == len(terms[0]) and len(set(terms[0])) == len(terms[0]))
        if found is not None:
            sizes.update(zip(terms[0], found.shape))
            operands = [found] + [b.new(dtype, tuple(sizes[letter] for letter in term)) for term in terms[1:]]
    return b.node(op, *operands, equation=equation)


@operators("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
           "ReduceSum", "ReduceSumSquare", weight=0.8)
def reduce(b, op):
    positive = {"low": 0.1, "high": 3} if op == "ReduceLogSum" else {}
    x = b.take(op, low_rank=0 if b.opset >= 18 else 1, **positive)
    axes = None
    if b.chance(0.8) and x.rank:
        axes = [int(a) for a in b.rng.choice(x.rank, b.integer(1, x.rank), replace=False)]
        axes = sorted(axes) if b.opset < 11 else [a - x.rank if b.chance(0.3) else a for a in axes]
    given, attribute = axes_of(b, op, axes)
    if given is None and attribute is None and not b.has(op, "axes") and b.chance(0.3):
        given = b.constant(np.zeros(0, np.int64))
    return b.node(op, x, given, axes=attribute, keepdims=b.pick(None, 0, 1), noop_with_empty_axes=b.pick(None, 0, 1))


@operators("Softmax", "LogSoftmax", "Hardmax", weight=1.5)
def softmax(b, op):
    x = b.take(op, low_rank=1, edges=False)
    return b.node(op, x, axis=b.pick(None, b.axis(x.rank, None if b.opset >= 11 else 0)) if b.opset >= 13 or x.rank > 1
                  else 0)


@operator("LpNormalization")
def lp_normalization(b, op):
    x = b.take(op, low_rank=1)
    return b.node(op, x, axis=b.pick(None, b.axis(x.rank)), p=b.pick(None, 1, 2))


@operator("MeanVarianceNormalization")
def mvn(b, op):
    x = b.take(op, low_rank=4, high_rank=4, shape=lambda: b.image(4))
    return b.node(op, x, axes=b.pick(None, [0, 2, 3], [2, 3], [1, 2, 3], [-1]))


@operator("BatchNormalization", weight=2)
def batch_normalization(b, op):
    x = b.take(op, 0, ("float32",), 2, 5, shape=b.image)
    c = (x.shape[1],)
    if b.opset < 7:
        raise Skip("training is the default")
    parameters = [b.weight("float32", c) for _ in range(3)]
    parameters.append(b.weight("float32", c, low=0.1, high=3))
    return b.node(op, x, *parameters, epsilon=b.pick(None, 1e-3), momentum=b.pick(None, 0.8),
                  spatial=b.pick(None, 1), training_mode=b.pick(None, 0))


@operators("InstanceNormalization", "GroupNormalization")
def instance_normalization(b, op):
    x = b.take(op, 0, ("float32",), 3, 5, shape=b.image)
    groups = None
    c = x.shape[1]
    if op == "GroupNormalization":
        groups = b.pick(*[g for g in range(1, c + 1) if c % g == 0])
        c = groups if b.opset < 21 else c
    return b.node(op, x, b.weight("float32", (c,)), b.weight("float32", (c,)), epsilon=b.pick(None, 1e-3), num_groups=groups,
                  stash_type=b.pick(None, 1))


@operators("LayerNormalization", "RMSNormalization")
def layer_normalization(b, op):
    x = b.take(op, 0, ("float32",), 1, 4)
    axis = b.pick(None, b.axis(x.rank))
    shape = x.shape[-1 if axis is None else axis % x.rank:]
    bias = b.weight("float32", shape) if b.chance(0.6) and op[0] == "L" else None
    return b.node(op, x, b.weight("float32", shape), bias, axis=axis, epsilon=b.pick(None, 1e-3), stash_type=b.pick(None, 1))


@operators("BiasGelu:com.microsoft", "FastGelu:com.microsoft", "Gelu:com.microsoft", "QuickGelu:com.microsoft",
           "SkipLayerNormalization:com.microsoft", chain=False)
def contributed(b, op):
    name = op.split(":")[0]
    shape = (b.integer(1, 2), b.integer(1, 4), b.integer(1, 9))
    x = b.new("float32", shape)
    last = lambda: b.weight("float32", shape[-1:])
    operands = {"BiasGelu": lambda: [x, last()], "FastGelu": lambda: [x] + ([last()] if b.chance(0.5) else []),
                "Gelu": lambda: [x], "QuickGelu": lambda: [x],
                "SkipLayerNormalization": lambda: [x, b.new("float32", shape), last()] + [last() for _ in range(b.integer(0, 2))]}
    attributes = {"QuickGelu": {"alpha": b.pick(None, 1.5)}, "SkipLayerNormalization": {"epsilon": b.pick(None, 1e-3)}}
    return b.node(name, *operands[name](), domain="com.microsoft", **attributes.get(name, {}))


@operators("RNN", "GRU", "LSTM", chain=False, weight=1.5)
def recurrent(b, op):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    direction = b.pick(None, "forward", "reverse", "bidirectional")
    directions = 2 if direction == "bidirectional" else 1
    time, batch, size, hidden = b.integer(1, 5), b.integer(1, 3), b.integer(1, 5), b.integer(1, 6)
    layout = b.pick(None, None, None, 0, 1) if b.opset >= 14 else None
    x = b.new("float32", (batch, time, size) if layout else (time, batch, size))
    w = b.weight("float32", (directions, gates * hidden, size))
    r = b.weight("float32", (directions, gates * hidden, hidden))
    bias = b.weight("float32", (directions, 2 * gates * hidden)) if b.chance(0.6) else None
    lengths = b.constant(b.data("int32", (batch,), low=1, high=time)) if b.chance(0.1) else None
    state = (batch, directions, hidden) if layout else (directions, batch, hidden)
    states = [b.new("float32", state) for _ in range(2 if op == "LSTM" else 1)] if b.chance(0.4) else []
    attributes = {"hidden_size": hidden, "direction": direction, "layout": layout,
                  "linear_before_reset": b.pick(None, 0, 1) if op == "GRU" else None,
                  "clip": b.pick(None, None, None, 1.0), "input_forget": b.pick(None, None, 0) if op == "LSTM" else None,
                  "activations": [b.pick("Tanh", "Relu")] * directions if op == "RNN" and b.chance(0.4) else None}
    count = 3 if op == "LSTM" else 2
    keep = [b.chance(0.7) for _ in range(count)]
    return b.node(op, x, w, r, bias, lengths, *states, outputs=count, keep=keep if any(keep) else None, **attributes)


@operator("Attention", chain=False, weight=2)
def attention(b, op):
    heads_kv = b.integer(1, 2)
    heads = heads_kv * b.integer(1, 2)
    batch, queries, keys, size, value = b.integer(1, 2), b.integer(1, 4), b.integer(1, 5), b.integer(1, 4), b.integer(1, 4)
    flat = b.chance(0.4)
    shape = lambda n, t, s: (batch, t, n * s) if flat else (batch, n, t, s)
    q, k = b.new("float32", shape(heads, queries, size)), b.new("float32", shape(heads_kv, keys, size))
    v = b.new("float32", shape(heads_kv, keys, value))
    past = b.integer(1, 3) if b.chance(0.2) else 0
    total = keys + past
    mask = None
    if b.chance(0.5):
        dims = b.pick((queries, total), (1, 1, queries, total), (batch, heads, queries, total))
        kind = b.pick("float32", "bool")

        def see_first_key(array):
            array[..., 0] = True

        mask = b.new(kind, dims, change=see_first_key if kind == "bool" else None)
    pasts = [b.new("float32", (batch, heads_kv, past, size)), b.new("float32", (batch, heads_kv, past, value))] if past else []
    return b.node(op, q, k, v, mask, *pasts, outputs=3 if past else 1, is_causal=b.pick(None, 0, 1),
                  scale=b.pick(None, 0.3), softcap=b.pick(None, None, 2.0), q_num_heads=heads if flat else None,
                  kv_num_heads=heads_kv if flat else None)


@operator("RotaryEmbedding", chain=False)
def rotary(b, op):
    batch, time, heads, half = b.integer(1, 2), b.integer(1, 4), b.integer(1, 3), b.integer(1, 4)
    partial = b.chance(0.3)
    size = 2 * half + (2 if partial else 0)
    flat = b.chance(0.5)
    x = b.new("float32", (batch, time, heads * size) if flat else (batch, heads, time, size))
    positions = b.integer(time, time + 3)
    ids = b.constant(b.data("int64", (batch, time), low=0, high=positions - 1)) if b.chance(0.6) else None
    caches = [b.weight("float32", (positions, half) if ids else (batch, time, half)) for _ in range(2)]
    return b.node(op, x, *caches, ids, num_heads=heads if flat else None, interleaved=b.pick(None, 0, 1),
                  rotary_embedding_dim=2 * half if partial else None)


@operators("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", chain=False)
def loss(b, op):
    shape = (b.integer(1, 4), b.integer(2, 5)) + (tuple(b.integer(1, 3) for _ in range(b.integer(0, 2))))
    x = b.new("float32", shape)
    labels = b.new(b.pick("int64", "int32"), shape[:1] + shape[2:], low=0, high=shape[1] - 1)
    weights = b.weight("float32", shape[1:2], low=0.1, high=2) if b.chance(0.5) else None
    return b.node(op, x, labels, weights, reduction=b.pick(None, "mean", "sum", "none"), ignore_index=b.pick(None, None, 1, -1))


@operator("DFT", chain=False)
def dft(b, op):
    shape = (b.integer(1, 3),) + tuple(b.integer(1, 8) for _ in range(b.integer(1, 2))) + (b.pick(1, 2),)
    x = b.new("float32", shape)
    axis = b.integer(1, x.rank - 2)
    onesided = b.pick(None, 0, 1) if shape[-1] == 1 else None
    inverse = b.pick(None, 0, 1) if not onesided else None
    length = b.constant(np.array(b.integer(1, 9), np.int64)) if b.chance(0.4) else None
    if b.opset < 20:
        return b.node(op, x, length, axis=axis, inverse=inverse, onesided=onesided)
    return b.node(op, x, length, b.constant(np.array(axis, np.int64)) if b.chance(0.8) else None, inverse=inverse,
                  onesided=onesided)


@operator("STFT", chain=False)
def stft(b, op):
    frame = b.pick(2, 3, 4, 5, 8)
    x = b.new("float32", (b.integer(1, 2), frame + b.integer(0, 12), 1))
    window = b.constant(b.data("float32", (frame,), low=0, high=1))
    return b.node(op, x, b.constant(np.array(b.integer(1, 4), np.int64)), window if b.chance(0.7) else None,
                  b.constant(np.array(frame, np.int64)), onesided=b.pick(None, 0, 1))


@operator("Det")
def det(b, op):
    n = b.integer(1, 4)
    x = b.take(op, low_rank=2, high_rank=4, shape=lambda: b.shape(0, 2) + (n, n),
               fits=lambda v: v.shape[-1] == v.shape[-2] and v.shape[-1] <= 4)
    return b.node(op, x)
