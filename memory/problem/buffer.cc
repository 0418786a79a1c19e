#include "memory/problem/buffer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace ashlar::memory {
namespace {

// Steps stay within +-2^62 so that the length of a lifetime is an int64.
constexpr int64_t kMaxStep = int64_t{1} << 62;

absl::Status Error(const Problem& problem, size_t index, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("buffer ", problem.buffers[index].id, " (index ", index, "): ", what));
}

absl::Status ValidateInside(const Problem& problem, const Inside& relation) {
  const int count = static_cast<int>(problem.buffers.size());
  for (int index : {relation.inner, relation.outer}) {
    if (index < 0 || index >= count) {
      return absl::InvalidArgumentError(absl::StrCat("inside relation names buffer index ", index,
                                                     "; there are ", count, " buffers"));
    }
  }
  const Buffer& inner = problem.buffers[relation.inner];
  const Buffer& outer = problem.buffers[relation.outer];
  if (relation.inner == relation.outer) {
    return Error(problem, relation.inner, "is declared inside of itself");
  }
  if (relation.offset < 0 || relation.offset > outer.size ||
      inner.size > outer.size - relation.offset) {
    return Error(
        problem, relation.inner,
        absl::StrCat(inner.size, " bytes at ", relation.offset, " do not fit inside of buffer ",
                     outer.id, " of ", outer.size, " bytes"));
  }
  return absl::OkStatus();
}

}  // namespace

// The end of every sensible plan is below this sum: the highest fixed offset, all sizes, and the
// largest gaps that alignment can force.
absl::Status TotalBytes::Add(const Buffer& buffer) {
  highest_fixed_ = std::max(highest_fixed_, buffer.offset.value_or(0));
  int64_t all;
  if (__builtin_add_overflow(sum_, buffer.size, &sum_) ||
      __builtin_add_overflow(sum_, buffer.alignment - 1, &sum_) ||
      __builtin_add_overflow(sum_, highest_fixed_, &all) || all > kMaxBytes) {
    return absl::InvalidArgumentError(
        "the sum of sizes, alignments and fixed offsets exceeds 2^62 bytes");
  }
  return absl::OkStatus();
}

absl::Status ValidateBuffer(const Buffer& b) {
  const auto error = [](const auto&... what) {
    return absl::InvalidArgumentError(absl::StrCat(what...));
  };
  if (b.upper <= b.lower) {
    return error(b.upper < b.lower ? "reversed" : "empty", " lifetime [", b.lower, ", ", b.upper,
                 "); expected lower < upper");
  }
  if (b.lower < -kMaxStep || b.upper > kMaxStep) {
    return error("lifetime [", b.lower, ", ", b.upper, ") is outside of +-2^62 steps");
  }
  if (b.size < 0) return error("negative size ", b.size);
  if (b.alignment <= 0 || (b.alignment & (b.alignment - 1)) != 0) {
    return error("alignment ", b.alignment, " is not a positive power of two");
  }
  if (b.offset.has_value() && *b.offset < 0) return error("negative fixed offset ", *b.offset);
  if (b.offset.has_value() && *b.offset % b.alignment != 0) {
    return error("fixed offset ", *b.offset, " contradicts alignment ", b.alignment);
  }
  return absl::OkStatus();
}

absl::Status ValidateProblem(const Problem& problem) {
  if (problem.buffers.size() > (size_t{1} << 30) || problem.inside.size() > (size_t{1} << 30)) {
    return absl::InvalidArgumentError("more than 2^30 buffers or relations");
  }
  TotalBytes total;
  for (size_t i = 0; i < problem.buffers.size(); ++i) {
    absl::Status status = ValidateBuffer(problem.buffers[i]);
    if (status.ok()) status = total.Add(problem.buffers[i]);
    if (!status.ok()) return Error(problem, i, std::string(status.message()));
  }
  for (const Inside& relation : problem.inside) {
    if (absl::Status status = ValidateInside(problem, relation); !status.ok()) {
      return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace ashlar::memory
