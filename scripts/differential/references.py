"""The references: onnx.reference and ONNX Runtime."""
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator

warnings.filterwarnings("ignore")
np.seterr(all="ignore")
onnxruntime.set_default_logger_severity(4)
_OPTIONS = onnxruntime.SessionOptions()
_OPTIONS.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # as the operators say
_OPTIONS.intra_op_num_threads = _OPTIONS.inter_op_num_threads = 1
_OPTIONS.log_severity_level = 4


def _info(value):
    if isinstance(value.array, list):
        kind = helper.np_dtype_to_tensor_dtype(value.array[0].dtype) if value.array else onnx.TensorProto.FLOAT
        return helper.make_tensor_sequence_value_info(value.name, kind, None)
    return helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(value.array.dtype), value.array.shape)


def model_of(nodes, inputs, initializers, results, opset):
    """A ModelProto; the shapes of what it returns are left to be inferred."""
    outputs = [
        helper.make_empty_tensor_value_info(v) if isinstance(v, str) else helper.make_tensor_value_info(
            v.name, helper.np_dtype_to_tensor_dtype(v.array.dtype), v.array.shape) for v in results
    ]
    graph = helper.make_graph(nodes, "differential", [_info(v) for v in inputs], outputs,
                              [numpy_helper.from_array(v.array, v.name) for v in initializers])
    imports = [helper.make_opsetid("", opset)]
    if any(node.domain == "com.microsoft" for node in nodes):
        imports.append(helper.make_opsetid("com.microsoft", 1))
    return helper.make_model(graph, opset_imports=imports, ir_version=min(10, onnx.IR_VERSION))


def by_onnxruntime(model, feeds):
    """Its results in order, or an error as text."""
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), _OPTIONS, providers=["CPUExecutionProvider"])
        names = {i.name for i in session.get_inputs()}
        return session.run(None, {k: v for k, v in feeds.items() if k in names})
    except Exception as error:  # its own types
        return str(error).splitlines()[0][:300]


def by_reference(model, feeds):
    try:
        return ReferenceEvaluator(model).run(None, feeds)
    except Exception as error:  # whatever its functions raise
        return f"{type(error).__name__}: {error}"[:300]


def _declared(node, given, opset):
    """The types of a node's results by ONNX's own inference, by name; none where that fails."""
    try:
        schema = onnx.defs.get_schema(node.op_type, opset, node.domain)
        types = {v.name: _info(v).type for v in given}
        data = {v.name: numpy_helper.from_array(v.array, v.name) for v in given if isinstance(v.array, np.ndarray)}
        return onnx.shape_inference.infer_node_outputs(schema, node, types, data,
                                                       opset_imports=[helper.make_opsetid("", opset)])
    except Exception:
        return {}


def _is_of(array, declared):
    """Whether an array has the dtype and shape of a type, as far as that says them."""
    if isinstance(array, list) or declared is None:
        return True
    tensor = declared.tensor_type
    if tensor.elem_type and helper.tensor_dtype_to_np_dtype(tensor.elem_type) != array.dtype:
        return False
    dims = tensor.shape.dim
    return not tensor.HasField("shape") or (len(dims) == array.ndim and all(
        not d.HasField("dim_value") or d.dim_value == n for d, n in zip(dims, array.shape)))


def evaluate(node, inputs, opset):
    """Returns the outputs of a node by onnx.reference, or by ONNX Runtime if that fails; (None, reason) if both fail."""
    given = {v.name: v for v in inputs if v is not None}.values()
    feeds = {v.name: v.array for v in given}
    if node.domain == "":
        declared = _declared(node, given, opset)
        node_alone = helper.make_graph([node], "node", [_info(v) for v in given],
                                       [helper.make_empty_tensor_value_info(n) for n in node.output if n])
        model = helper.make_model(node_alone, opset_imports=[helper.make_opsetid("", opset)])
        results = by_reference(model, feeds)
        if not isinstance(results, str):
            results = iter(results)
            arrays = [next(results) if n else None for n in node.output]
            arrays = [a if isinstance(a, list) else np.asarray(a) for a in arrays]
            if all(_is_of(a, declared.get(n)) for a, n in zip(arrays, node.output) if n):
                return arrays, "onnx.reference"
            results = "another dtype or shape than ONNX infers"
    else:
        results = "domain"
    graph = helper.make_graph([node], "node", [_info(v) for v in given],
                              [helper.make_empty_tensor_value_info(n) for n in node.output if n])
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    arrays = by_onnxruntime(helper.make_model(graph, opset_imports=imports, ir_version=10), feeds)
    if isinstance(arrays, str):
        return None, f"{results}; {arrays}"
    arrays = iter(arrays)
    return [np.asarray(next(arrays)) if n else np.zeros(0, np.float32) for n in node.output], "onnxruntime"
