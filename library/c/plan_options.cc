#include "library/c/plan_options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/status.h"
#include "library/c/border.h"
#include "library/c/objects.h"
#include "library/execution.h"
#include "runtime/plan/record/packing_options.h"
#include "runtime/plan/request/request_options.h"
#include "training/checkpoint.h"

namespace ashlar::c {
namespace {

constexpr int kMostThreads = 1024;

absl::Status AddBudget(const ashlar_plan_options& options, OptionTexts& texts) {
  if (options.memory_budget < ASHLAR_LEAST) {
    return InvalidArgument(absl::StrCat("memory_budget is ", options.memory_budget,
                                        "; expected bytes, 0 for none, or ASHLAR_LEAST"));
  }
  if (std::isnan(options.max_extra_flops)) return InvalidArgument("max_extra_flops is no number");
  if (options.memory_budget != 0) {
    texts["memory-budget"] =
        options.memory_budget == ASHLAR_LEAST ? "min" : absl::StrCat(options.memory_budget);
  }
  if (options.max_extra_flops != 0) {
    texts["max-extra-flops"] = RatioText(std::max(0.0, options.max_extra_flops));
  }
  return absl::OkStatus();
}

// Writes the name of an option as the field of this interface.
std::string FieldOf(absl::string_view name) { return absl::StrReplaceAll(name, {{"-", "_"}}); }

// Returns the options of a request that the caller sets, in fields of their own and in `more`.
absl::StatusOr<OptionTexts> TextsOf(const ashlar_plan_options& options) {
  OptionTexts texts;
  if (options.precision != nullptr) texts["precision"] = options.precision;
  for (const auto& [name, text] : {std::pair("tile", options.tile), {"passes", options.passes}}) {
    if (text != nullptr && *text != '\0') texts[name] = text;
  }
  if (options.exact != 0) texts["exact"] = "on";
  if (options.prefer_memory != 0) texts["prefer"] = "memory";
  if (options.release_input != 0) texts["release-input"] = "on";
  ASHLAR_RETURN_IF_ERROR(AddBudget(options, texts));
  OptionTexts more;
  if (options.more != nullptr) {
    ASHLAR_ASSIGN_OR_RETURN(more, ParseOptionTexts(options.more));
  }
  for (const auto& [name, text] : more) {
    if (name == "total-budget") {
      return InvalidArgument("more: total-budget is of a process of the command");
    }
    const auto [given, is_new] = texts.emplace(name, text);
    if (is_new || given->second == text) continue;
    return InvalidArgument(absl::StrCat("more: ", name, " is ", text,
                                        ", and in a field of its own it is ", given->second));
  }
  return texts;
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
                     ": a checkpoint of a training, not a model; create the same training of its "
                     "model, resume it from this file, and save the trained model"));
  }
  if (shapes.empty()) {
    ASHLAR_RETURN_IF_ERROR(model.needs_shapes);
    return model.model;
  }
  OpenOptions open;
  open.shapes = shapes;
  open.note = Log;
  absl::StatusOr<Model> opened = !model.is_onnx() ? WithShapes(model.model, shapes)
                                 : model.source   ? OpenModel(*model.source, open)
                                                  : OpenModelInMemory(model.bytes, open);
  if (opened.ok()) model.AddNotes(opened->notes);
  return opened;
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
  ASHLAR_ASSIGN_OR_RETURN(const OptionTexts texts, TextsOf(options));
  ASHLAR_RETURN_IF_ERROR(SetOptions(texts, request, FieldOf));
  ASHLAR_RETURN_IF_ERROR(CheckTogether(request, FieldOf));
  target.tuned_tiles = !texts.contains("tile") && !target.budget.has_value();
  if (options.kernel_record != nullptr && *options.kernel_record != '\0') {
    planning.record = RecordFor(options.kernel_record, target, Log);
  }
  if (model.packed.has_value() && target.comp_node.type == CompNode::Type::kCpu) {
    TakePackedOptions(
        model.packed->options, [&](absl::string_view name) { return texts.contains(name); },
        request);
  }
  return request;
}

}  // namespace ashlar::c
