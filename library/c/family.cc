// Families of shapes in the C interface: a plan for each point, one copy of the weights, one arena.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/status.h"
#include "library/c/border.h"
#include "library/c/objects.h"
#include "runtime/session/arena_memory.h"

namespace ashlar::c {
namespace {

ashlar_shape ShapeOf(const std::string& input, const Shape& shape) {
  ashlar_shape result = {input.c_str(), shape.rank(), {}};
  std::copy(shape.dims().begin(), shape.dims().end(), result.shape);
  return result;
}

// Returns the options for one point. `shapes` stores its shapes.
ashlar_plan_options AtPoint(const ashlar_plan_options& options, const InputShapes& point,
                            std::vector<ashlar_shape>& shapes) {
  ashlar_plan_options at = options;
  shapes.assign(options.shapes, options.shapes + options.num_shapes);
  for (const auto& [input, shape] : point) shapes.push_back(ShapeOf(input, shape));
  at.shapes = shapes.data();
  at.num_shapes = shapes.size();
  return at;
}

// Adds the bytes of one more point that shares arena and weights.
void AddPoint(const ashlar_memory& point, ashlar_memory& all) {
  all.arena = std::max(all.arena, point.arena);
  all.arena_alignment = std::max(all.arena_alignment, point.arena_alignment);
  all.lower_bound = std::max(all.lower_bound, point.lower_bound);
  all.input = std::max(all.input, point.input);
  all.output = std::max(all.output, point.output);
  all.predicted_ms = std::max(all.predicted_ms, point.predicted_ms);
  all.weights += point.weights - point.weights_shared;
  all.weights_in_file += point.weights_in_file;
  all.state += point.state;
}

absl::Status CheckOptions(const ashlar_plan_options& options) {
  if (options.share != nullptr)
    return InvalidArgument("share: the plans of a family share already");
  if (options.plan_file != nullptr) {
    return InvalidArgument("plan_file is a plan of one shape, and a family has several");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ashlar_family>> FamilyOf(const ashlar_model& model,
                                                        absl::string_view shapes,
                                                        const ashlar_plan_options& options) {
  ASHLAR_RETURN_IF_ERROR(CheckOptions(options));
  const std::vector<std::string> texts = absl::StrSplit(shapes, ' ', absl::SkipEmpty());
  if (texts.empty()) return InvalidArgument("shapes is empty; expected NAME=SIZESxSIZES...");
  auto family = std::make_unique<ashlar_family>();
  ASHLAR_ASSIGN_OR_RETURN(family->shapes, ShapeFamily::Parse(texts));
  std::vector<bool> kept;
  absl::Status first_refusal, least_that_fits;  // the latter of all points
  for (const InputShapes& point : family->shapes.points()) {
    std::vector<ashlar_shape> of_point;
    ashlar_plan_options at = AtPoint(options, point, of_point);
    if (!family->plans.empty()) at.share = family->plans[0].get();
    absl::StatusOr<std::unique_ptr<ashlar_plan>> plan = PlanOf(model, at);
    if (KeepGreaterNeed(plan.status(), ShapesText(point), least_that_fits)) continue;
    kept.push_back(plan.ok());
    if (plan.ok()) {
      AddPoint((*plan)->memory, family->memory);
      family->listed.push_back(plan->get());
      family->plans.push_back(*std::move(plan));
      continue;
    }
    const bool refused =
        absl::IsInvalidArgument(plan.status()) || absl::IsFailedPrecondition(plan.status());
    if (!refused || !family->shapes.varies_in_several_inputs()) {
      return Annotate(plan.status(), ShapesText(point));
    }
    if (first_refusal.ok()) first_refusal = Annotate(plan.status(), ShapesText(point));
  }
  ASHLAR_RETURN_IF_ERROR(least_that_fits);
  if (family->plans.empty()) return first_refusal;
  family->shapes.Keep(kept);
  return family;
}

absl::StatusOr<size_t> PointFor(const ashlar_family& family, absl::Span<const ashlar_shape> shapes,
                                bool exactly) {
  const auto dims = [&](const std::string& input) -> std::optional<absl::Span<const int64_t>> {
    for (const ashlar_shape& shape : shapes) {
      if (shape.input == nullptr || shape.input != input) continue;
      if (shape.rank < 0 || shape.rank > ASHLAR_MAX_RANK) break;
      return absl::MakeConstSpan(shape.shape, static_cast<size_t>(shape.rank));
    }
    return std::nullopt;
  };
  return family.shapes.Find(dims, exactly);
}

// Returns a session of one point in the caller's arena, otherwise in the family's.
absl::StatusOr<std::unique_ptr<ashlar_session>> SessionAt(ashlar_family& family, size_t point,
                                                          ashlar_session_options options) {
  if (point >= family.plans.size()) {
    return InvalidArgument(
        absl::StrCat("point is ", point, "; the family has ", family.plans.size(), " points"));
  }
  const ashlar_plan& plan = *family.plans[point];
  if (options.arena != nullptr) return SessionOf(plan, options);
  const std::lock_guard<std::mutex> lock(family.mutex);
  if (family.arena == nullptr) {
    const auto largest = std::max_element(
        family.plans.begin(), family.plans.end(),
        [](const auto& a, const auto& b) { return a->memory.arena < b->memory.arena; });
    ASHLAR_ASSIGN_OR_RETURN(const std::shared_ptr<const Executable> executable,
                            (*largest)->loaded->Load());
    ASHLAR_ASSIGN_OR_RETURN(family.arena, AllocateArena(executable->planned()));
  }
  return SessionIn(family.arena, plan, options);
}

}  // namespace
}  // namespace ashlar::c

using ashlar::c::Call;
using ashlar::c::CheckGiven;

ashlar_status ashlar_model_family(const ashlar_model* model, const char* shapes,
                                  const ashlar_plan_options* options, ashlar_family** family) {
  return ashlar::c::CallToMake(
      model, "model", family, "family", options, "ashlar_plan_options",
      [&](const ashlar_model& of,
          const ashlar_plan_options& given) -> absl::StatusOr<std::unique_ptr<ashlar_family>> {
        ASHLAR_RETURN_IF_ERROR(CheckGiven(shapes, "shapes"));
        return ashlar::c::FamilyOf(of, shapes, given);
      });
}

void ashlar_family_release(ashlar_family* family) { delete family; }

ashlar_status ashlar_family_plans(const ashlar_family* family, const ashlar_plan* const** first,
                                  size_t* count) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(family, "family"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(first, "first"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(count, "count"));
    *first = family->listed.data();
    *count = family->listed.size();
    return absl::OkStatus();
  });
}

ashlar_status ashlar_family_memory(const ashlar_family* family, ashlar_memory* memory) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(family, "family"));
    return ashlar::c::Write(family->memory, "ashlar_memory", memory);
  });
}

ashlar_status ashlar_family_point(const ashlar_family* family, const ashlar_shape* shapes,
                                  size_t num_shapes, int32_t pad, size_t* point) {
  return Call([&]() -> absl::Status {
    ASHLAR_RETURN_IF_ERROR(CheckGiven(family, "family"));
    ASHLAR_RETURN_IF_ERROR(CheckGiven(point, "point"));
    if (num_shapes > 0) ASHLAR_RETURN_IF_ERROR(CheckGiven(shapes, "shapes"));
    ASHLAR_ASSIGN_OR_RETURN(*point, ashlar::c::PointFor(*family, {shapes, num_shapes}, pad == 0));
    return absl::OkStatus();
  });
}

ashlar_status ashlar_family_session(ashlar_family* family, size_t point,
                                    const ashlar_session_options* options,
                                    ashlar_session** session) {
  return ashlar::c::CallToMake(family, "family", session, "session", options,
                               "ashlar_session_options",
                               [&](ashlar_family& of, const ashlar_session_options& given) {
                                 return ashlar::c::SessionAt(of, point, given);
                               });
}
