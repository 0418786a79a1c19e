#include "graph/needed_bytes.h"

#include <string>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace ashlar {
namespace {

constexpr char kNeededBytes[] = "ashlar/needed_bytes";

}  // namespace

absl::Status WithNeededBytes(absl::Status status, int64_t bytes) {
  status.SetPayload(kNeededBytes, absl::Cord(absl::StrCat(bytes)));
  return status;
}

absl::Status DoesNotFit(absl::string_view message, int64_t bytes) {
  return WithNeededBytes(absl::ResourceExhaustedError(message), bytes);
}

std::optional<int64_t> NeededBytes(const absl::Status& status) {
  const auto payload = status.GetPayload(kNeededBytes);
  int64_t bytes = 0;
  if (!payload || !absl::SimpleAtoi(std::string(*payload), &bytes)) return std::nullopt;
  return bytes;
}

}  // namespace ashlar
