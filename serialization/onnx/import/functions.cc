#include "serialization/onnx/import/functions.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "serialization/onnx/import/operator_sets.h"

namespace ashlar {
namespace {

using onnx::AttributeProto;
using onnx::NodeProto;

// Fields that change a model's meaning but are missing in libonnx's schema.
constexpr int kNodeOverload = 8, kFunctionDefaults = 11, kFunctionOverload = 13;

// Lite messages keep the bytes of unknown fields.
template <typename Message>
bool HasUnknownField(const Message& message, int number) {
  using google::protobuf::internal::WireFormatLite;
  const std::string& bytes = message.unknown_fields();
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(bytes.data()),
                                            static_cast<int>(bytes.size()));
  while (const uint32_t tag = in.ReadTag()) {
    if (WireFormatLite::GetTagFieldNumber(tag) == number) return true;
    if (!WireFormatLite::SkipField(&in, tag)) return false;
  }
  return false;
}

using Attributes = absl::flat_hash_map<std::string, const AttributeProto*>;

// Replaces references to a call's attributes; removes references to absent attributes.
void Bind(const Attributes& given, NodeProto& node) {
  auto& attributes = *node.mutable_attribute();
  for (int i = 0; i < attributes.size();) {
    AttributeProto& attribute = attributes[i];
    if (!attribute.ref_attr_name().empty()) {
      const auto found = given.find(attribute.ref_attr_name());
      if (found == given.end()) {
        attributes.DeleteSubrange(i, 1);
        continue;
      }
      const std::string name = attribute.name();
      attribute = *found->second;
      attribute.set_name(name);
    } else {
      if (attribute.has_g()) {
        for (NodeProto& inner : *attribute.mutable_g()->mutable_node()) Bind(given, inner);
      }
      for (onnx::GraphProto& graph : *attribute.mutable_graphs()) {
        for (NodeProto& inner : *graph.mutable_node()) Bind(given, inner);
      }
    }
    ++i;
  }
}

}  // namespace

OnnxFunctions::OnnxFunctions(const onnx::ModelProto& model) {
  for (const onnx::FunctionProto& function : model.functions()) {
    functions_[{OnnxDomain(function.domain()), function.name()}] = &function;
  }
}

const onnx::FunctionProto* OnnxFunctions::Find(const NodeProto& node) const {
  const auto found = functions_.find({OnnxDomain(node.domain()), node.op_type()});
  return found != functions_.end() ? found->second : nullptr;
}

absl::StatusOr<OnnxNodes> BodyOfCall(const onnx::FunctionProto& function, const NodeProto& call,
                                     const std::vector<bool>& given) {
  if (HasUnknownField(function, kFunctionDefaults) ||
      HasUnknownField(function, kFunctionOverload) || HasUnknownField(call, kNodeOverload)) {
    return absl::UnimplementedError(
        "the function has defaults of attributes, or overloads another one");
  }
  if (static_cast<int>(given.size()) > function.input_size() ||
      call.output_size() > function.output_size()) {
    return absl::InvalidArgumentError(absl::StrCat("the function has ", function.input_size(),
                                                   " inputs and ", function.output_size(),
                                                   " outputs"));
  }
  Attributes attributes;
  for (const AttributeProto& attribute : call.attribute())
    attributes[attribute.name()] = &attribute;
  OnnxNodes body = function.node();
  for (NodeProto& node : body) Bind(attributes, node);
  for (int i = 0; i < function.input_size(); ++i) {
    if (i < static_cast<int>(given.size()) && given[i]) continue;
    for (NodeProto& node : body) {
      for (std::string& name : *node.mutable_input()) {
        if (name == function.input(i)) name.clear();
      }
    }
  }
  return body;
}

}  // namespace ashlar
