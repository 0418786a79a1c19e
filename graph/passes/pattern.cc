#include "graph/passes/pattern.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace ashlar {

double NumberParam(const Operator& op, absl::string_view name, double fallback) {
  for (const auto& [key, value] : op.params()) {
    if (key != name) continue;
    if (const double* number = std::get_if<double>(&value)) return *number;
    if (const int64_t* whole = std::get_if<int64_t>(&value)) return static_cast<double>(*whole);
  }
  return fallback;
}

std::string TextParam(const Operator& op, absl::string_view name) {
  for (const auto& [key, value] : op.params()) {
    const std::string* const text = std::get_if<std::string>(&value);
    if (key == name && text != nullptr) return *text;
  }
  return "";
}

bool IsNearly(double value, double expected) {
  return std::abs(value - expected) <= 1e-6 * std::abs(expected);
}

std::optional<double> PatternMatcher::Number(int var) const {
  const HostTensor* const value = graph_.constant(var);
  if (value == nullptr || value->num_elements() != 1 || !value->has_data()) return std::nullopt;
  return value->At(0);
}

const OperatorNode* PatternMatcher::Made(int var, absl::string_view type) {
  const int index = graph_.var(var).producer;
  const OperatorNode& node = graph_.node(index);
  if (node.op->type() != type || node.outputs.size() != 1) return nullptr;
  if (std::find(nodes_.begin(), nodes_.end(), index) == nodes_.end()) nodes_.push_back(index);
  return &node;
}

absl::Span<const int> PatternMatcher::Function(int var, absl::string_view name) {
  const size_t before = size();
  const OperatorNode* const node = Made(var, "Elemwise");
  if (node != nullptr && TextParam(*node->op, "mode") == name) return node->inputs;
  Forget(before);
  return {};
}

std::optional<int> PatternMatcher::SumWith(int var, double number) {
  const size_t before = size();
  const absl::Span<const int> operands = Function(var, "ADD");
  for (size_t i = 0; i < operands.size(); ++i) {
    const std::optional<double> other = Number(operands[i]);
    if (other && IsNearly(*other, number)) return operands[1 - i];
  }
  Forget(before);
  return std::nullopt;
}

bool PatternMatcher::IsImage(int var) const {
  for (;;) {
    const OperatorNode& node = graph_.node(graph_.var(var).producer);
    if (node.op->role() != Role::kCompute || Type(var).shape.rank() != 4) return false;
    const FormatRule rule = node.op->storage_rules(graph_.SiteOf(node)).format;
    if (rule == FormatRule::kBlocked) return true;
    if (rule != FormatRule::kFollow && rule != FormatRule::kUniform) return false;
    var = node.inputs[0];
  }
}

PatternProduct PatternMatcher::Product(int var, int most) {
  PatternProduct product;
  std::vector<int> open = {var};
  while (!open.empty()) {
    const int next = open.back();
    open.pop_back();
    if (const std::optional<double> number = Number(next)) {
      product.coefficient *= *number;
      continue;
    }
    const bool inner = IsRoot(next) || graph_.readers(next).size() == 1;
    if (inner && most > 0) {
      const absl::Span<const int> factors = Function(next, "MUL");
      // A square is read by one node, but twice.
      if (!factors.empty() && factors[0] != factors[1]) {
        open.insert(open.end(), factors.begin(), factors.end());
        --most;
        continue;
      }
      const absl::Span<const int> quotient = Function(next, "TRUE_DIV");
      if (!quotient.empty() && Number(quotient[1])) {
        product.coefficient /= *Number(quotient[1]);
        open.push_back(quotient[0]);
        --most;
        continue;
      }
    }
    product.factors.push_back(next);
  }
  return product;
}

bool PatternMatcher::IsClosed() const {
  return std::all_of(nodes_.begin() + 1, nodes_.end(), [&](int index) {
    const std::vector<int>& readers = graph_.readers(graph_.node(index).outputs[0]);
    return std::all_of(readers.begin(), readers.end(), [&](int reader) {
      return std::find(nodes_.begin(), nodes_.end(), reader) != nodes_.end();
    });
  });
}

}  // namespace ashlar
