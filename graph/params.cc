#include "graph/params.h"

#include <charconv>

#include "absl/strings/str_join.h"
#include "graph/status.h"

namespace ashlar {
namespace {

struct Printer {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const {  // the shortest text that parses to the same value
    char text[32];
    const std::to_chars_result end = std::to_chars(text, text + sizeof(text), value);
    return std::string(text, end.ptr);
  }
  std::string operator()(const std::string& value) const { return value; }
  std::string operator()(const std::vector<int64_t>& value) const {
    return absl::StrCat("[", absl::StrJoin(value, ","), "]");
  }
};

}  // namespace

void ParamReader::Fail(absl::string_view name, absl::string_view what) {
  if (!status_.ok()) return;
  status_ = absl::InvalidArgumentError(absl::StrCat("parameter '", name, "' ", what));
}

absl::Status ParamReader::Finish() const {
  ASHLAR_RETURN_IF_ERROR(status_);
  for (size_t i = 0; i < list_.size(); ++i) {
    if (used_[i]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("unknown parameter '", list_[i].first.substr(0, 64), "'"));
  }
  return absl::OkStatus();
}

std::string ToString(const ParamList& params) {
  return absl::StrJoin(params, " ", [](std::string* out, const auto& item) {
    absl::StrAppend(out, item.first, "=", std::visit(Printer(), item.second));
  });
}

}  // namespace ashlar
