#include "graph/naming.h"

#include "absl/strings/str_format.h"

namespace ashlar {
namespace {

constexpr size_t kMaxLength = 64;

std::string WithoutParentheses(const std::string& name) {
  const size_t open = name.find('(');
  const size_t close = name.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return name;
  return name.substr(0, open) + name.substr(close + 1);
}

std::string ConstantName(const HostTensor& value) {
  if (value.num_elements() != 1 || !value.has_data()) {
    return absl::StrCat("const", value.shape().ToString());
  }
  std::string name = absl::StrFormat("const<%.3g>", value.At(0));
  if (value.shape().rank() != 1) name += value.shape().ToString();
  return name;
}

}  // namespace

std::string AutomaticName(const Operator& op, absl::Span<const std::string> input_names, int id) {
  std::string name;
  if (op.role() == Role::kConstant) {
    const absl::StatusOr<std::vector<HostTensor>> value = op.Evaluate({});
    name = value.ok() ? ConstantName((*value)[0]) : op.base_name();
  } else {
    name = op.base_name();
    for (size_t i = 0; i < input_names.size(); ++i) {
      name += i == 0 ? "(" : ",";
      if (name.size() >= kMaxLength) {
        name += "...";
        break;
      }
      name += WithoutParentheses(input_names[i]);
    }
    if (!input_names.empty()) name += ")";
  }
  return absl::StrCat(name, "[", id, "]");
}

}  // namespace ashlar
