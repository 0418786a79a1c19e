// Operators of ONNX Runtime's quantiser (its QOperator format) as functions: DequantizeLinear on
// the inputs, the Float32 operator, then QuantizeLinear. They are read as if the model contained
// these nodes, so that 8-bit operators are used if there are any.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "serialization/onnx/import/table.h"

namespace ashlar {
namespace {

using onnx::AttributeProto;
using onnx::FunctionProto;
using onnx::NodeProto;

constexpr int64_t kBodyOperatorSet = 19;
constexpr int kMostInputs = 9;  // except for concatenations

const AttributeProto* AttributeOf(const NodeProto& call, absl::string_view name) {
  for (const AttributeProto& attribute : call.attribute()) {
    if (attribute.name() == name) return &attribute;
  }
  return nullptr;
}

int64_t IntOf(const NodeProto& call, absl::string_view name, int64_t fallback) {
  const AttributeProto* const attribute = AttributeOf(call, name);
  return attribute != nullptr ? attribute->i() : fallback;
}

// A function whose inputs are named i0, i1, ...
class Body {
 public:
  explicit Body(const NodeProto& call, int64_t operator_set = kBodyOperatorSet) {
    function_.set_name(call.op_type());
    for (int i = 0; i < std::max(call.input_size(), kMostInputs); ++i) {
      function_.add_input(Input(i));  // inputs that the call lacks are skipped when read
    }
    function_.add_opset_import()->set_version(operator_set);
  }

  static std::string Input(int i) { return absl::StrCat("i", i); }

  // Returns the value that the node produces. Copies `attributes` of the call to the node.
  std::string Add(const char* type, const std::vector<std::string>& inputs,
                  std::initializer_list<absl::string_view> attributes = {},
                  const NodeProto* call = nullptr) {
    NodeProto& node = *function_.add_node();
    node.set_op_type(type);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(absl::StrCat("v", function_.node_size()));
    for (const absl::string_view name : attributes) {
      if (const AttributeProto* given = AttributeOf(*call, name)) *node.add_attribute() = *given;
    }
    return node.output(0);
  }
  // Sets an attribute of the node added last.
  void SetInt(const char* name, int64_t value) {
    AttributeProto& attribute = *function_.mutable_node()->rbegin()->add_attribute();
    attribute.set_name(name);
    attribute.set_type(AttributeProto::INT);
    attribute.set_i(value);
  }
  // Inputs `first` to first + 2 are integers, their scale and their zero point.
  std::string Dequantized(int first) {
    return Add("DequantizeLinear", {Input(first), Input(first + 1), Input(first + 2)});
  }

  // Finishes with `value`, quantised by inputs `scale` and scale + 1.
  FunctionProto Quantized(const std::string& value, int scale) && {
    return std::move(*this).Ending(Add("QuantizeLinear", {value, Input(scale), Input(scale + 1)}));
  }
  FunctionProto Ending(const std::string& value) && {
    function_.add_output(value);
    return std::move(function_);
  }

 private:
  FunctionProto function_;
};

absl::Status CheckChannelsFirst(const NodeProto& call) {
  if (IntOf(call, "channels_last", 0) == 0) return absl::OkStatus();
  return absl::UnimplementedError("channels_last");
}

absl::StatusOr<FunctionProto> QBinary(const NodeProto& call, const char* type) {
  Body body(call);
  const std::string a = body.Dequantized(0), b = body.Dequantized(3);
  const std::string y = body.Add(type, {a, b});
  return std::move(body).Quantized(y, 6);
}
absl::StatusOr<FunctionProto> QAdd(const NodeProto& call) { return QBinary(call, "Add"); }
absl::StatusOr<FunctionProto> QMul(const NodeProto& call) { return QBinary(call, "Mul"); }

absl::StatusOr<FunctionProto> QUnary(const NodeProto& call, const char* type,
                                     std::initializer_list<absl::string_view> attributes,
                                     int64_t operator_set = kBodyOperatorSet) {
  absl::Status status = CheckChannelsFirst(call);
  if (!status.ok()) return status;
  Body body(call, operator_set);
  const std::string x = body.Dequantized(0);
  const std::string y = body.Add(type, {x}, attributes, &call);
  return std::move(body).Quantized(y, 3);
}
absl::StatusOr<FunctionProto> QAveragePool(const NodeProto& call) {
  return QUnary(call, "AveragePool",
                {"auto_pad", "ceil_mode", "count_include_pad", "dilations", "kernel_shape", "pads",
                 "strides"});
}
absl::StatusOr<FunctionProto> QGlobalAveragePool(const NodeProto& call) {
  return QUnary(call, "GlobalAveragePool", {});
}
absl::StatusOr<FunctionProto> QLeakyRelu(const NodeProto& call) {
  return QUnary(call, "LeakyRelu", {"alpha"});
}
absl::StatusOr<FunctionProto> QReduceMean(const NodeProto& call) {
  return QUnary(call, "ReduceMean", {"axes", "keepdims"}, 13);  // axes were an attribute in set 13
}
absl::StatusOr<FunctionProto> QSigmoid(const NodeProto& call) {
  return QUnary(call, "Sigmoid", {});
}
// Before operator set 13, Softmax joined all axes from `axis` on.
absl::StatusOr<FunctionProto> QSoftmax(const NodeProto& call) {
  const int64_t set = IntOf(call, "opset", 13);
  if (set < 1 || set > kNewestOperatorSet) {
    return absl::InvalidArgumentError(absl::StrCat("opset is ", set));
  }
  return QUnary(call, "Softmax", {"axis"}, set);
}

// The result's scale and zero point come first, then three inputs for each tensor.
absl::StatusOr<FunctionProto> QConcat(const NodeProto& call) {
  if (call.input_size() % 3 != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(call.input_size(), " inputs, expected 2 and 3 for each tensor"));
  }
  Body body(call);
  std::vector<std::string> parts;
  for (int i = 2; i < call.input_size(); i += 3) parts.push_back(body.Dequantized(i));
  const std::string y = body.Add("Concat", parts, {"axis"}, &call);
  return std::move(body).Quantized(y, 0);
}

absl::StatusOr<FunctionProto> QWhere(const NodeProto& call) {
  Body body(call);
  const std::string x = body.Dequantized(1), y = body.Dequantized(4);
  const std::string z = body.Add("Where", {Body::Input(0), x, y});
  return std::move(body).Quantized(z, 7);
}

// C is Int32 with the products' scale. Without a scale of its own, the result is Float32.
absl::StatusOr<FunctionProto> QGemm(const NodeProto& call) {
  const AttributeProto* const alpha = AttributeOf(call, "alpha");
  if (alpha != nullptr && alpha->f() != 1) {
    return absl::UnimplementedError(absl::StrCat("alpha is ", alpha->f()));
  }
  Body body(call);
  const std::string a = body.Dequantized(0), b = body.Dequantized(3);
  body.SetInt("axis", IntOf(call, "transB", 0) != 0 ? 0 : 1);
  std::vector<std::string> operands = {a, b};
  if (call.input_size() > 6 && !call.input(6).empty()) {
    const std::string scale = body.Add("Mul", {Body::Input(1), Body::Input(4)});
    operands.push_back(body.Add("DequantizeLinear", {Body::Input(6), scale}));
    body.SetInt("axis", 0);
  }
  const std::string y = body.Add("Gemm", operands, {"transA", "transB"}, &call);
  const bool floats = call.input_size() <= 7 || call.input(7).empty();
  return floats ? std::move(body).Ending(y) : std::move(body).Quantized(y, 7);
}

constexpr OnnxRow kQuantizedFunctionRows[] = {
    OnnxRow("QGemm", 6, 9, nullptr).MadeOf(QGemm).In(kMicrosoftDomain).Limits("alpha 1"),
    OnnxRow("QLinearAdd", 7, 8, nullptr).MadeOf(QAdd).In(kMicrosoftDomain),
    OnnxRow("QLinearAveragePool", 4, 5, nullptr)
        .MadeOf(QAveragePool)
        .In(kMicrosoftDomain)
        .Limits("channels first"),
    OnnxRow("QLinearConcat", 5, OnnxRow::kAny, nullptr).MadeOf(QConcat).In(kMicrosoftDomain),
    OnnxRow("QLinearGlobalAveragePool", 5, 5, nullptr)
        .MadeOf(QGlobalAveragePool)
        .In(kMicrosoftDomain)
        .Limits("channels first"),
    OnnxRow("QLinearLeakyRelu", 4, 5, nullptr).MadeOf(QLeakyRelu).In(kMicrosoftDomain),
    OnnxRow("QLinearMul", 7, 8, nullptr).MadeOf(QMul).In(kMicrosoftDomain),
    OnnxRow("QLinearReduceMean", 4, 5, nullptr).MadeOf(QReduceMean).In(kMicrosoftDomain),
    OnnxRow("QLinearSigmoid", 4, 5, nullptr).MadeOf(QSigmoid).In(kMicrosoftDomain),
    OnnxRow("QLinearSoftmax", 5, 5, nullptr).MadeOf(QSoftmax).In(kMicrosoftDomain),
    OnnxRow("QLinearWhere", 9, 9, nullptr).MadeOf(QWhere).In(kMicrosoftDomain),
};

}  // namespace

absl::Span<const OnnxRow> OnnxQuantizedFunctionRows() { return kQuantizedFunctionRows; }

}  // namespace ashlar
