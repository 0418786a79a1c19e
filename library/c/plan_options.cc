#include "library/c/plan_options.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "graph/status.h"
#include "library/c/border.h"
#include "library/c/objects.h"
#include "library/execution.h"
#include "library/plan_model.h"
#include "runtime/plan/record/packing_options.h"
#include "runtime/plan/record/plan_as_recorded.h"
#include "runtime/plan/request/request_options.h"
#include "serialization/plan_file.h"
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

// Returns the request of a plan file. `texts`: the other options that the caller sets, which the
// file settles.
absl::StatusOr<PlanRequest> RequestOfPlanFile(const Model& model,
                                              const ashlar_plan_options& options,
                                              const OptionTexts& texts) {
  const bool record = options.kernel_record != nullptr && *options.kernel_record != '\0';
  if (record || !texts.empty()) {
    return InvalidArgument(absl::StrCat("plan_file: ", options.plan_file, " settles ",
                                        record ? "kernel_record" : FieldOf(texts.begin()->first),
                                        "; expected no such option beside it"));
  }
  absl::StatusOr<StoredPlan> file = ReadPlanFile(options.plan_file);
  if (!file.ok()) return WithStatus(file.status(), ASHLAR_REJECTED_FILE);
  const ModelIdentity identity = IdentityOf(model);
  if (!(identity == file->model)) {
    return InvalidArgument(
        absl::StrCat("plan_file: ", options.plan_file, " is the plan of another model: of ",
                     file->model.ToString(), "; this one has ", identity.ToString()));
  }
  const PlanTarget& target = file->plan.target;
  const auto differs = [&](const char* option, const auto& given, const auto& planned) {
    return InvalidArgument(
        absl::StrCat(option, " is ", given, "; the plan ", options.plan_file, " is for ", planned));
  };
  if (options.threads != 0 && options.threads != target.threads) {
    return differs("threads", options.threads, target.threads);
  }
  if (options.device != nullptr && options.device != target.comp_node.ToString()) {
    return differs("device", options.device, target.comp_node.ToString());
  }
  return RequestAsRecorded(std::make_shared<const RecordedPlan>(std::move(file->plan)));
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
  open.bounds = model.bounds;
  open.values = model.values;
  open.files = model.files;
  open.note = Log;
  absl::StatusOr<Model> opened = !model.is_onnx() ? WithShapes(model.model, shapes)
                                 : model.source   ? OpenModel(*model.source, open)
                                                  : OpenModelInMemory(model.bytes, open);
  if (opened.ok()) model.AddNotes(opened->notes);
  return opened;
}

absl::StatusOr<Model> ModelOf(const ashlar_model& model, const ashlar_plan& plan) {
  std::vector<ashlar_shape> shapes;
  for (const ashlar_tensor& input : plan.inputs) {
    shapes.push_back({input.name, input.rank, {}});
    std::copy_n(input.shape, input.rank, shapes.back().shape);
  }
  const Graph& graph = model.model.graph;
  const bool its_own =
      model.needs_shapes.ok() && absl::c_all_of(graph.inputs(), [&](const Binding& input) {
        return absl::c_any_of(plan.inputs, [&](const ashlar_tensor& planned) {
          return input.name == planned.name &&
                 graph.var(input.var).type.shape.dims() ==
                     absl::MakeConstSpan(planned.shape, static_cast<size_t>(planned.rank));
        });
      });
  ashlar_plan_options options = {};
  options.shapes = shapes.data();
  options.num_shapes = its_own ? 0 : shapes.size();
  return ModelFor(model, options);
}

absl::StatusOr<PlanRequest> RequestFor(const Model& model, const ashlar_plan_options& options,
                                       const Watched& watched) {
  if (options.plan_file != nullptr && *options.plan_file != '\0') {
    ASHLAR_ASSIGN_OR_RETURN(const OptionTexts beside, TextsOf(options));
    return RequestOfPlanFile(model, options, beside);
  }
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
  // Names an option as the caller has written it.
  const auto spell = [&](absl::string_view name) {
    const bool dashed = options.more != nullptr && absl::StrContains(options.more, name);
    return dashed ? std::string(name) : FieldOf(name);
  };
  ASHLAR_RETURN_IF_ERROR(SetOptions(texts, request, spell));
  ASHLAR_RETURN_IF_ERROR(CheckTogether(request, spell));
  target.tuned_tiles = !texts.contains("tile") && !target.budget.has_value();
  if (options.kernel_record != nullptr && *options.kernel_record != '\0') {
    planning.record = RecordFor(options.kernel_record, target, Log);
  }
  const PackedModel* const packed = PackedFor(model, target);
  if (packed != nullptr && target.comp_node.type == CompNode::Type::kCpu) {
    TakePackedOptions(
        packed->options, [&](absl::string_view name) { return texts.contains(name); }, request);
  }
  return request;
}

}  // namespace ashlar::c
