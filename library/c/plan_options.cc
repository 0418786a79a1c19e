#include "library/c/plan_options.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/passes/pass.h"
#include "graph/status.h"
#include "library/c/border.h"
#include "library/c/objects.h"
#include "library/execution.h"
#include "runtime/plan/record/recorded_tiles.h"
#include "training/checkpoint.h"

namespace ashlar::c {
namespace {

constexpr int kMostThreads = 1024;

absl::Status SetBudget(const ashlar_plan_options& options, PlanTarget& target) {
  if (options.memory_budget == 0) {
    if (options.max_extra_flops == 0) return absl::OkStatus();
    return InvalidArgument("max_extra_flops is of a memory_budget, and there is none");
  }
  if (options.memory_budget < ASHLAR_LEAST) {
    return InvalidArgument(absl::StrCat("memory_budget is ", options.memory_budget,
                                        "; expected bytes, 0 for none, or ASHLAR_LEAST"));
  }
  if (std::isnan(options.max_extra_flops)) return InvalidArgument("max_extra_flops is no number");
  MemoryBudget budget;
  budget.bytes = std::max<int64_t>(options.memory_budget, 0);
  if (options.max_extra_flops != 0) budget.max_extra_flops = std::max(0.0, options.max_extra_flops);
  target.budget = budget;
  return absl::OkStatus();
}

// Takes the options that the file was packed with, if the caller sets none of them.
void TakePackedOptions(const PackedModel& packed, bool tile_given, bool passes_given,
                       PlanRequest& request) {
  const absl::StatusOr<PackingOptions> options = PackingOptions::Parse(packed.options);
  if (!options.ok()) return;
  request.target.tuned_tiles = false;
  if (!passes_given) request.planning.passes = options->passes;
  request.planning.inplace = options->inplace;
  request.planning.kernels.exact = request.planning.kernels.exact || options->exact;
  if (request.target.budget.has_value()) {
    const MemoryBudget& budget = *request.target.budget;
    const bool same = options->budget.has_value() && options->budget->bytes == budget.bytes &&
                      options->budget->max_extra_flops == budget.max_extra_flops;
    if (!same) return;
    request.target.budget.reset();  // its tiles were found when the file was packed
  }
  request.planning.kernels.least_memory =
      request.planning.kernels.least_memory || options->least_memory;
  if (!tile_given) request.target.tiles = options->tiles;
}

// Returns the requested shapes; InvalidArgument names an invalid one.
absl::StatusOr<InputShapes> ShapesIn(const ashlar_plan_options& options) {
  InputShapes shapes;
  if (options.num_shapes > 0) ASHLAR_RETURN_IF_ERROR(CheckGiven(options.shapes, "shapes"));
  for (size_t i = 0; i < options.num_shapes; ++i) {
    const ashlar_shape& given = options.shapes[i];
    const std::string place = absl::StrCat("shapes[", i, "]");
    ASHLAR_RETURN_IF_ERROR(CheckGiven(given.input, place + ".input"));
    if (given.rank < 0 || given.rank > ASHLAR_MAX_RANK) {
      return InvalidArgument(
          absl::StrCat(place, ".rank is ", given.rank, "; expected 0 to ", ASHLAR_MAX_RANK));
    }
    absl::StatusOr<Shape> shape = Shape::Make({given.shape, static_cast<size_t>(given.rank)});
    if (!shape.ok()) return Annotate(shape.status(), absl::StrCat(place, " of ", given.input));
    shapes[given.input] = *shape;
  }
  return shapes;
}

}  // namespace

absl::StatusOr<Model> ModelFor(const ashlar_model& model, const ashlar_plan_options& options) {
  ASHLAR_ASSIGN_OR_RETURN(const InputShapes shapes, ShapesIn(options));
  if (IsCheckpoint(model.model.graph)) {
    return InvalidArgument(
        absl::StrCat(model.model.file.name,
                     ": a checkpoint of a training, which is no model; make the same training of "
                     "its model, resume it from this file and save what it trained"));
  }
  if (shapes.empty()) {
    ASHLAR_RETURN_IF_ERROR(model.needs_shapes);
    return model.model;
  }
  if (!model.is_onnx()) return WithShapes(model.model, shapes);
  OpenOptions open;
  open.shapes = shapes;
  open.note = Log;
  return model.source ? OpenModel(*model.source, open) : OpenModelInMemory(model.bytes, open);
}

absl::StatusOr<PlanRequest> RequestFor(const Model& model, const ashlar_plan_options& options,
                                       const Watched& watched) {
  PlanRequest request;
  auto& [target, planning, debug] = request;
  planning.planner.limits.stop = watched.stop;
  planning.progress = watched.progress;
  if (options.threads < 0 || options.threads > kMostThreads) {
    return InvalidArgument(
        absl::StrCat("threads is ", options.threads, "; expected 0 to ", kMostThreads));
  }
  target.threads = options.threads > 0 ? options.threads : DefaultThreads();
  if (options.device != nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(target.comp_node, CompNode::Parse(options.device));
  }
  if (options.precision != nullptr) {
    const absl::StatusOr<DType> precision = ParsePrecision(options.precision);
    if (!precision.ok()) return Annotate(precision.status(), "precision");
    target.precision = *precision;
  }
  const bool tile_given = options.tile != nullptr && *options.tile != '\0';
  if (tile_given) {
    ASHLAR_ASSIGN_OR_RETURN(target.tiles, ParseTilesOrNone(options.tile));
  }
  const bool passes_given = options.passes != nullptr && *options.passes != '\0';
  if (passes_given) {
    ASHLAR_RETURN_IF_ERROR(SelectPasses(options.passes).status());
    planning.passes = options.passes;
  }
  ASHLAR_RETURN_IF_ERROR(SetBudget(options, target));
  if (target.budget.has_value() && tile_given) {
    return InvalidArgument("tile and memory_budget together: a budget finds its own tiles");
  }
  target.tuned_tiles = !tile_given && !target.budget.has_value();
  planning.kernels.exact = options.exact != 0;
  planning.kernels.least_memory = options.prefer_memory != 0;
  target.release_input = options.release_input != 0;
  if (options.kernel_record != nullptr && *options.kernel_record != '\0') {
    planning.record = RecordFor(options.kernel_record, target, Log);
  }
  if (model.packed.has_value() && target.comp_node.type == CompNode::Type::kCpu) {
    TakePackedOptions(*model.packed, tile_given, passes_given, request);
  }
  return request;
}

}  // namespace ashlar::c
