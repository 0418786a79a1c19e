#include "serialization/onnx/import/missing.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace ashlar {

void MissingOperators::Add(Operator op, const std::string& node) {
  Nodes& nodes = found_[std::move(op)];
  if (nodes.count++ == 0) nodes.first = node;
}

absl::Status MissingOperators::ToStatus() const {
  if (found_.empty()) return absl::OkStatus();
  std::string text = absl::StrCat("not supported: ", found_.size(),
                                  found_.size() == 1 ? " operator" : " operators",
                                  " (`ashlar ops --onnx` lists the supported ones)");
  for (const auto& [op, nodes] : found_) {
    absl::StrAppend(&text, "\n  ", op.type, " (", op.domain.empty() ? "ai.onnx" : op.domain, " ",
                    op.version, "), ", op.folding ? "in folding" : "at run time", ", ", nodes.count,
                    nodes.count == 1 ? " node: '" : " nodes, the first: '", nodes.first, "'",
                    op.why.empty() ? "" : absl::StrCat(": ", op.why));
  }
  return absl::UnimplementedError(text);
}

}  // namespace ashlar
