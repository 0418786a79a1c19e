// The planner alone, in the C interface.
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/needed_bytes.h"
#include "graph/status.h"
#include "library/c/border.h"
#include "library/c/watched.h"
#include "memory/planner.h"
#include "memory/problem/work.h"

namespace ashlar::c {
namespace {

absl::StatusOr<memory::Problem> ProblemOf(const ashlar_buffer* buffers, size_t count) {
  memory::Problem problem;
  for (size_t i = 0; i < count; ++i) {
    const ashlar_buffer& from = buffers[i];
    memory::Buffer buffer;
    buffer.id = from.id;
    buffer.lower = from.lower;
    buffer.upper = from.upper;
    buffer.size = from.size;
    buffer.alignment = from.alignment == 0 ? 1 : from.alignment;
    if (from.offset >= 0) buffer.offset = from.offset;
    problem.buffers.push_back(buffer);
    if (from.inside < 0) continue;
    if (static_cast<uint64_t>(from.inside) >= count) {
      return InvalidArgument(absl::StrCat("buffers[", i, "].inside is ", from.inside,
                                          "; there are ", count, " buffers"));
    }
    problem.inside.push_back(
        {static_cast<int>(i), static_cast<int>(from.inside), from.inside_offset});
  }
  return problem;
}

absl::StatusOr<memory::PlanOptions> OptionsOf(const ashlar_solve_options& given) {
  memory::PlanOptions options;
  if (given.work_ms < 0 || given.work_ms > INT64_MAX / memory::kWorkPerMillisecond) {
    return InvalidArgument(absl::StrCat("work_ms is ", given.work_ms));
  }
  if (given.capacity < 0) return InvalidArgument(absl::StrCat("capacity is ", given.capacity));
  if (given.planner != nullptr) options.planner = given.planner;
  if (given.work_ms > 0) options.limits.work = given.work_ms * memory::kWorkPerMillisecond;
  if (given.capacity > 0) options.limits.capacity = given.capacity;
  return options;
}

}  // namespace
}  // namespace ashlar::c

ashlar_status ashlar_solve(ashlar_buffer* buffers, size_t count,
                           const ashlar_solve_options* options, ashlar_solution* solution) {
  return ashlar::c::Call([&]() -> absl::Status {
    if (count > 0) ASHLAR_RETURN_IF_ERROR(ashlar::c::CheckGiven(buffers, "buffers"));
    ashlar_solve_options given;
    ASHLAR_RETURN_IF_ERROR(ashlar::c::Read(options, "ashlar_solve_options", given));
    ASHLAR_ASSIGN_OR_RETURN(ashlar::memory::PlanOptions plan_options, ashlar::c::OptionsOf(given));
    ASHLAR_ASSIGN_OR_RETURN(const ashlar::memory::Problem problem,
                            ashlar::c::ProblemOf(buffers, count));
    ASHLAR_ASSIGN_OR_RETURN(const ashlar::memory::PlanResult result,
                            ashlar::c::MakeWatched<ashlar::memory::PlanResult>(
                                given, [&](const ashlar::c::Watched& watched) {
                                  plan_options.limits.stop = watched.stop;
                                  return ashlar::memory::PlanMemory(problem, plan_options);
                                }));
    if (given.capacity > 0 && result.plan.arena > given.capacity) {
      return ashlar::DoesNotFit(
          absl::StrCat("no plan found within ", given.capacity, " bytes; the best needs ",
                       result.plan.arena, ", the lower bound is ", result.lower_bound),
          result.plan.arena);
    }
    if (solution != nullptr) {
      ashlar_solution found = {};
      found.arena = result.plan.arena;
      found.lower_bound = result.lower_bound;
      found.proof = static_cast<int32_t>(result.proof);
      ASHLAR_RETURN_IF_ERROR(ashlar::c::Write(found, "ashlar_solution", solution));
    }
    for (size_t i = 0; i < count; ++i) buffers[i].offset = result.plan.offsets[i];
    return absl::OkStatus();
  });
}
