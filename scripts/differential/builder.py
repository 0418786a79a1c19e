"""A builder of random ONNX models: every node is evaluated when it is added, so that shapes, dtypes and ranges are known."""
import dataclasses
import functools

import numpy as np
import onnx
from onnx import helper, numpy_helper

from . import references

FLOATS = ("float32", "float16", "float64")
SIGNED = ("int64", "int32", "int16", "int8")
INTEGERS = SIGNED + ("uint64", "uint32", "uint16", "uint8")
DTYPES = FLOATS + INTEGERS + ("bool",)
WEIGHTS = {"float32": 10, "int64": 3, "int32": 3, "int16": 0.4, "int8": 1.5, "uint64": 0.4, "uint32": 0.4, "uint16": 0.4,
           "uint8": 1.5, "bool": 1.5, "float16": 0.4, "float64": 0.4}
_NAMES = {"tensor(float)": "float32", "tensor(double)": "float64"}
_LARGEST = 1 << 14  # elements of a value

FLOAT_EDGES = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 1.0, -1.0, 1e-40, 3e4, -3e4, 127.5, -128.5, 255.5]
SPECIALS = [np.inf, -np.inf, np.nan]


class Skip(Exception):
    """An operator, operator set and values that make no valid node."""


@dataclasses.dataclass
class Value:
    """A tensor, or a list of tensors, of the model, and its value in the reference."""
    name: str
    array: object
    constant: bool = False  # an initializer, or computed from initializers only
    exact: bool = True  # not to be disturbed when rounding errors are estimated
    noise: float = 0.0
    by: str = "onnx.reference"  # the reference that evaluated it

    @property
    def dtype(self):
        return self.array.dtype.name

    @property
    def shape(self):
        return self.array.shape

    @property
    def rank(self):
        return self.array.ndim


@functools.lru_cache(maxsize=None)
def schema_of(op, opset, domain=""):
    try:
        schema = onnx.defs.get_schema(op, opset, domain)
    except Exception as error:
        raise Skip(str(error)) from error
    if schema.deprecated:
        raise Skip(f"{op} is deprecated")
    return schema


@functools.lru_cache(maxsize=None)
def allowed(op, opset, index):
    """Returns the dtypes that ONNX allows for an input and that Ashlar has."""
    schema = schema_of(op, opset)
    kind = schema.inputs[min(index, len(schema.inputs) - 1)].type_str
    types = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}.get(kind, [kind])
    names = [_NAMES.get(t, t[len("tensor("):-1]) for t in types]
    return [name for name in DTYPES if name in names]


class Builder:
    """A model under construction. `chain` makes operators read what others computed."""

    def __init__(self, rng, opset, chain):
        self.rng, self.opset, self.chain = rng, opset, chain
        self.nodes, self.inputs, self.initializers, self.values = [], [], [], []
        self.consumed, self.arrays = set(), {}  # arrays of all values by name
        self.constants = 1.0 if rng.random() < 0.08 else rng.choice([0.0, 0.3])  # share of inputs known beforehand
        self.edges = not chain and rng.random() < 0.3
        self.onnxruntime = True  # False where it would end the process

    # Random choices.
    def chance(self, p):
        return bool(self.rng.random() < p)

    def pick(self, *options):
        return options[int(self.rng.integers(len(options)))]

    def integer(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def shape(self, low=0, high=5):
        rank = self.integer(low, high)
        return tuple(self.integer(1, 7 if rank <= 3 else 5) for _ in range(rank))

    def image(self, rank=None, channels=None):
        rank = rank or self.pick(3, 4, 4, 4, 4, 5)
        most = {3: 17, 4: 12, 5: 6}[rank]
        return (self.integer(1, 2), channels or self.pick(1, 2, 3, 4, 6, 8, 16)) + tuple(
            self.integer(2, most) for _ in range(rank - 2))

    def axis(self, rank, low=None):
        """One that is there, counted from either end."""
        if rank == 0:
            raise Skip("no axis")
        return self.integer(-rank if low is None else low, rank - 1)

    def broadcastable(self, shape):
        """A shape that broadcasts with this one, mostly into it."""
        shape = [1 if self.chance(0.25) else d for d in shape]
        if self.chance(0.3) and shape:
            shape = shape[self.integer(0, len(shape)):]
        elif self.chance(0.1) and len(shape) < 5:
            shape = [self.integer(1, 3)] + shape
        return tuple(shape)

    # Values.
    def data(self, dtype, shape, low=None, high=None, edges=None, specials=False, nonzero=False):
        """Random elements. `low` and `high` bound them; edges of the dtype stand among them where the model has edges."""
        edges = self.edges and low is None and high is None if edges is None else edges and self.edges
        dtype = np.dtype(dtype)
        count = int(np.prod(shape))
        if dtype == bool:
            return self.rng.integers(0, 2, shape).astype(bool)
        if dtype.kind == "f":
            if low is not None or high is not None:
                low, high = -3.0 if low is None else low, 3.0 if high is None else high
                array = self.rng.uniform(low, high, shape)
            else:
                array = self.rng.standard_normal(shape) * self.pick(0.5, 1.0, 1.0, 3.0)
            if edges or (specials and self.edges):
                some = FLOAT_EDGES + (SPECIALS if specials else [])
                array = np.where(self.rng.random(shape) < 0.3, self.rng.choice(some, shape), array)
            array = np.asarray(array, dtype)
        else:
            info = np.iinfo(dtype)
            wide = edges and self.chance(0.7)
            lo = (info.min if wide else max(info.min, -9)) if low is None else max(int(low), info.min)
            hi = (info.max if wide else min(info.max, 9)) if high is None else min(int(high), info.max)
            array = self.rng.integers(lo, hi, shape, dtype, endpoint=True)
            if wide:
                some = [info.min, info.max, 0, 1, info.min + 1, info.max - 1, info.max // 2 + 1]
                some += [(1 << 53) + 1, (1 << 24) + 1, -(1 << 53) - 1] if dtype == np.int64 else []
                some += [(1 << 24) + 1] if dtype == np.int32 else []
                array = np.where(self.rng.random(shape) < 0.3, self.rng.choice(np.array(some, dtype), shape), array)
            array = np.asarray(array, dtype)
        if nonzero:
            array = np.where(array == 0, np.asarray(1, dtype), array)
        return np.asarray(array, dtype).reshape(shape) if count else np.zeros(shape, dtype)

    def constant(self, array, exact=True):
        """An initializer, sometimes a node Constant."""
        value = Value(f"k{len(self.initializers) + len(self.nodes)}", np.asarray(array), True, exact)
        self.arrays[value.name] = value.array
        if self.chance(0.1) and value.array.dtype != np.float16:
            self.nodes.append(helper.make_node("Constant", [], [value.name], value=numpy_helper.from_array(value.array)))
        else:
            self.initializers.append(value)
        return value

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def new(self, dtype, shape, constant=None, change=None, **data):
        """An input of the model, or an initializer. `change` changes its elements: later the model has a copy of them."""
        if constant is None:
            constant = self.chance(self.constants)
        if constant and self.chain and change is None and self.chance(0.2):  # shared
            same = [v for v in self.initializers if v.dtype == dtype and v.shape == tuple(shape) and not v.exact]
            if same and "low" not in data and not data.get("nonzero"):
                return self.pick(*same)
        array = self.data(dtype, shape, **data)
        if change is not None:
            change(array)
        if constant:
            return self.constant(array, exact=False)
        value = Value(f"in{len(self.inputs)}", array, False, False)
        self.arrays[value.name] = array
        self.inputs.append(value)
        self.values.append(value)
        return value

    def weight(self, dtype, shape, **data):
        """Mostly an initializer, small enough for sums of its products."""
        return self.new(dtype, shape, constant=self.chance(0.85), **{"edges": False, **data})

    def dtype(self, op, index=0, among=DTYPES):
        names = [d for d in allowed(op, self.opset, index) if d in among]
        if not names:
            raise Skip(f"{op} {self.opset}: no dtype")
        weights = np.array([WEIGHTS[d] for d in names])
        return names[int(self.rng.choice(len(names), p=weights / weights.sum()))]

    def existing(self, dtypes, fits):
        found = [v for v in self.values if isinstance(v.array, np.ndarray) and v.dtype in dtypes and fits(v)]
        if not found:
            return None
        return found[-1] if self.chance(0.6) else self.pick(*found)

    def take(self, op, index=0, among=DTYPES, low_rank=0, high_rank=5, shape=None, fits=None, **data):
        """Returns an input for an operator: in a chain mostly an existing value, otherwise a new one of `shape`."""
        dtypes = [d for d in allowed(op, self.opset, index) if d in among]
        if self.chain and self.chance(0.9):
            bounded = data.get("low") is not None or data.get("high") is not None
            low, high = data.get("low"), data.get("high")

            def suits(v):
                if not low_rank <= v.rank <= high_rank or (fits and not fits(v)):
                    return False
                if v.array.size == 0 or (data.get("nonzero") and not np.all(v.array)):
                    return False
                return not bounded or ((low is None or v.array.min() >= low) and (high is None or v.array.max() <= high))

            value = self.existing(dtypes, suits)
            if value is not None:
                return value
            if len(self.nodes) > 1 and self.chance(0.7):
                raise Skip("nothing there that fits")
        return self.new(self.dtype(op, index, among), shape() if shape else self.shape(low_rank, high_rank), **data)

    def like(self, value, shape=None, **data):
        """A second operand of a value's dtype: one that is there, or new, of a shape that broadcasts."""
        if shape is None and self.chain and self.chance(0.5):
            def fits(v):
                try:
                    return np.broadcast_shapes(v.shape, value.shape) is not None
                except ValueError:
                    return False
            found = self.existing([value.dtype], fits)
            if found is not None and not (data.get("nonzero") or "low" in data or "high" in data):
                return found
        shape = self.broadcastable(value.shape) if shape is None else shape
        return self.new(value.dtype, shape, constant=self.chance(max(self.constants, 0.4)), **data)

    # Nodes.
    def has(self, op, name, domain=""):
        """Whether the operator has an attribute of this name in this operator set."""
        return name in schema_of(op, self.opset, domain).attributes

    def node(self, op, *inputs, outputs=1, domain="", keep=None, **attributes):
        """Adds a node; attributes that are None, or unknown in this operator set, are left out. Returns its values."""
        inputs = list(inputs)
        while inputs and inputs[-1] is None:
            inputs.pop()
        if domain == "":
            schema = schema_of(op, self.opset)
            attributes = {k: v for k, v in attributes.items() if v is not None and k in schema.attributes}
            if len(inputs) > schema.max_input:
                raise Skip(f"{op} {self.opset} has {schema.max_input} inputs")
            for i, value in enumerate(inputs):
                if value is not None and isinstance(value.array, np.ndarray) and value.dtype not in allowed(op, self.opset, i):
                    raise Skip(f"{op} {self.opset}: {value.dtype}")
        attributes = {k: v for k, v in attributes.items() if v is not None and v != []}
        names = [v.name if v is not None else "" for v in inputs]
        results = [f"{op.lower()}{len(self.nodes)}_{i}" if keep is None or keep[i] else "" for i in range(outputs)]
        node = helper.make_node(op, names, results, domain=domain, name=f"n{len(self.nodes)}_{op}", **attributes)
        arrays, by = references.evaluate(node, inputs, self.opset)
        if arrays is None:
            raise Skip(f"no reference evaluates {op}: {by}")
        given = [v for v in inputs if v is not None]
        constant = all(v.constant for v in given)
        by = by if all(v.by == "onnx.reference" for v in given) else "onnxruntime"
        made = [Value(r, a, constant, by=by) for r, a in zip(results, arrays)]
        for value in made:
            parts = value.array if isinstance(value.array, list) else [value.array]
            for part in parts:
                if part.dtype.name not in DTYPES or part.ndim > 7 or not 0 < part.size <= _LARGEST:
                    raise Skip(f"{op} gives {part.dtype} {part.shape}")
                if self.chain and part.dtype.kind == "f" and not (np.isfinite(part).all() and
                                                                  np.abs(part).max(initial=0) < 1e6):
                    raise Skip("out of range in a chain")
        self.nodes.append(node)
        self.arrays.update((v.name, v.array) for v in made)
        self.consumed.update(names)
        self.values += [v for v in made if v.name]
        return made[0] if outputs == 1 else made

    def snapshot(self):
        return len(self.nodes), len(self.inputs), len(self.initializers), len(self.values), set(self.consumed)

    def restore(self, state):
        for items, count in zip((self.nodes, self.inputs, self.initializers, self.values), state):
            del items[count:]
        self.consumed = state[4]

    def results(self):
        """The values that the model returns: all that nothing reads, and sometimes one more."""
        computed = {name for node in self.nodes if node.op_type != "Constant" for name in node.output if name}
        values = [v for v in self.values if v.name in computed and isinstance(v.array, np.ndarray)]
        ends = [v for v in values if v.name not in self.consumed or self.chance(0.15)]
        return ends

    def model(self, results):
        """The ModelProto that gives these values."""
        return references.model_of(self.nodes, self.inputs, self.initializers, results, self.opset)
