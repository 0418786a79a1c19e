#include "tools/family.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/random.h"
#include "graph/status.h"
#include "library/model_source.h"
#include "library/pixel_input.h"
#include "library/plan_model.h"
#include "runtime/plan/stages/shared_pool.h"
#include "runtime/session/arena_memory.h"
#include "runtime/session/bind_tensors.h"
#include "serialization/npy.h"
#include "serialization/npz.h"
#include "tools/exit_code.h"
#include "tools/format.h"
#include "tools/inputs.h"
#include "tools/model.h"
#include "tools/request.h"

namespace ashlar {
namespace {

// Adds the shapes of the arrays in one value of --input.
absl::Status AddArrayShapes(const std::string& argument, const std::string& only_input,
                            InputShapes& shapes) {
  const size_t equals = argument.find('=');
  const std::string name = equals == std::string::npos ? "" : argument.substr(0, equals);
  const std::string path = equals == std::string::npos ? argument : argument.substr(equals + 1);
  if (HasEnding(path, ".npy")) {
    const absl::StatusOr<HostTensor> array = ReadNpy(path);
    if (!array.ok()) return WithExitCode(array.status(), ExitCode::kRejectedInput);
    shapes[name.empty() ? only_input : name] = array->shape();
  } else if (HasEnding(path, ".npz")) {
    const absl::StatusOr<NamedTensors> arrays = ReadNpz(path);
    if (!arrays.ok()) return WithExitCode(arrays.status(), ExitCode::kRejectedInput);
    for (const auto& [array, tensor] : *arrays) {
      shapes[arrays->size() == 1 && !name.empty() ? name : array] = tensor.shape();
    }
  }
  return absl::OkStatus();
}

// Returns the conversion of an input from pixels, if there is one.
absl::StatusOr<std::optional<PixelInput>> PixelsOf(const ModelFlags& flags,
                                                   const std::string& input) {
  for (const std::string& text : flags.pixels) {
    const absl::StatusOr<PixelInput> pixels = ParsePixelInput(text);
    if (!pixels.ok()) {
      return UsageError(absl::StrCat("--pixels ", text, ": ", pixels.status().message()));
    }
    if (pixels->input.empty() || pixels->input == input) return *pixels;
  }
  return std::nullopt;
}

// Returns whether an input of a declared shape takes an array of pixels, {N,H,W,C} or
// {N,H*3/2,W}.
bool TakesPixels(const Shape& declared, const PixelInput& pixels, const Shape& array) {
  if (declared.rank() != 4 || array.rank() != (pixels.yuv ? 3 : 4) || array[0] != declared[0]) {
    return false;
  }
  const auto is = [&](int64_t height, int64_t width) {
    if (pixels.size) height = (*pixels.size)[0], width = (*pixels.size)[1];
    return array[1] == (pixels.yuv ? height / 2 * 3 : height) && array[2] == width;
  };
  return is(declared[2], declared[3]) || is(declared[1], declared[2]);  // or its channels are last
}

// Returns the declared shape of an input that takes an array of this shape; the array's own if none
// does.
absl::StatusOr<Shape> DeclaredFor(const ShapeFamily& family, const ModelFlags& flags, bool nhwc,
                                  const std::string& input, const Shape& array) {
  ASHLAR_ASSIGN_OR_RETURN(const std::optional<PixelInput> pixels, PixelsOf(flags, input));
  const bool permuted = array.rank() == 4 && (nhwc || flags.channels_last);
  std::vector<Shape> taking;
  for (const InputShapes& point : family.points()) {
    const auto declared = point.find(input);
    if (declared == point.end()) return array;
    const Shape& shape = declared->second;
    const bool takes = pixels ? TakesPixels(shape, *pixels, array)
                              : shape == array || (permuted && shape == Shape{array[0], array[3],
                                                                              array[1], array[2]});
    if (takes && absl::c_find(taking, shape) == taking.end()) taking.push_back(shape);
  }
  if (taking.size() > 1) {
    return UsageError(absl::StrCat(
        "--pixels says the size of the pictures for ", input, ", so that they do not choose among ",
        absl::StrJoin(taking, ", ",
                      [](std::string* out, const Shape& s) { absl::StrAppend(out, s.ToString()); }),
        "; declare one of these with --shape"));
  }
  return taking.empty() ? array : taking[0];
}

}  // namespace

absl::StatusOr<std::optional<ShapeFamily>> FamilyOf(const ModelFlags& flags) {
  if (absl::c_none_of(flags.shapes, ShapeFamily::HasChoice)) return std::nullopt;
  absl::StatusOr<ShapeFamily> family = ShapeFamily::Parse(flags.shapes);
  if (!family.ok()) return UsageError(absl::StrCat("--shape ", family.status().message()));
  return std::optional<ShapeFamily>(*std::move(family));
}

absl::Status CheckTogether(const ShapeFamily& family, const PlanningFlags& planning) {
  const struct {
    const char* option;
    bool given;
    const char* why;
  } refused[] = {
      {"--total-budget", planning.request.target.total.has_value(), "limits one plan"},
      {"--plan", !planning.plan_file.empty(), "is a plan of one shape"},
  };
  for (const auto& row : refused) {
    if (!row.given) continue;
    return UsageError(absl::StrCat(row.option, " ", row.why, ", and --shape declares ",
                                   Counted(family.points().size(), "point"), ": ", family.text()));
  }
  return absl::OkStatus();
}

ModelFlags AtPoint(const ModelFlags& flags, const InputShapes& point) {
  ModelFlags at = flags;
  at.shapes.clear();
  for (const auto& [input, shape] : point) {
    at.shapes.push_back(absl::StrCat(input, "=", absl::StrJoin(shape.dims(), "x")));
  }
  return at;
}

absl::StatusOr<size_t> ChoosePoint(const ShapeFamily& family, const ModelFlags& flags,
                                   const InputFlags& inputs) {
  const std::vector<InputShapes>& points = family.points();
  if (inputs.files.empty()) return points.size() - 1;
  const std::string only = points[0].size() == 1 ? points[0].begin()->first : "";
  InputShapes shapes;
  for (const std::string& argument : inputs.files) {
    ASHLAR_RETURN_IF_ERROR(AddArrayShapes(argument, only, shapes));
  }
  for (auto& [input, shape] : shapes) {
    ASHLAR_ASSIGN_OR_RETURN(shape, DeclaredFor(family, flags, inputs.nhwc, input, shape));
  }
  for (const auto& [input, shape] : points[0]) {
    const bool varies = absl::c_any_of(points, [&, &input = input, &shape = shape](const auto& p) {
      return p.at(input) != shape;
    });
    if (shapes.contains(input)) continue;
    if (varies) {
      return UsageError(absl::StrCat("--shape ", family.text(), ": the shape of an array chooses ",
                                     "the point, and no --input gives an array for ", input));
    }
    shapes[input] = shape;
  }
  const absl::StatusOr<size_t> found = family.Find(shapes);
  if (found.ok()) return found;
  return WithExitCode(Annotate(found.status(), "--input"), ExitCode::kRejectedInput);
}

absl::StatusOr<ModelFlags> AtChosenPoint(const ModelFlags& flags, const PlanningFlags& planning,
                                         const InputFlags& inputs, Console& console) {
  ASHLAR_ASSIGN_OR_RETURN(const std::optional<ShapeFamily> family, FamilyOf(flags));
  if (!family) return flags;
  ASHLAR_RETURN_IF_ERROR(CheckTogether(*family, planning));
  ASHLAR_ASSIGN_OR_RETURN(const size_t point, ChoosePoint(*family, flags, inputs));
  const InputShapes& shapes = family->points()[point];
  console.Note(
      absl::StrCat("point ", point + 1, " of ", family->points().size(), ": ", ShapesText(shapes)));
  return AtPoint(flags, shapes);
}

int64_t PlannedFamily::arena() const {
  int64_t bytes = 0;
  for (const PlannedModel& plan : plans) bytes = std::max(bytes, plan.plan().plan.plan.arena);
  return bytes;
}

int64_t PlannedFamily::weights_apart() const {
  int64_t bytes = 0;
  for (const PlannedModel& plan : plans) bytes += plan.plan().weights.memory_bytes();
  return bytes;
}

absl::StatusOr<PlannedFamily> PlanFamily(const ShapeFamily& family, const ModelFlags& flags,
                                         ExecutionFlags& execution, const PlanningFlags& planning,
                                         Console& console) {
  ASHLAR_RETURN_IF_ERROR(CheckTogether(family, planning));
  PlannedFamily planned = {family, {}};
  std::vector<bool> kept;
  std::optional<SharedPool> pool;
  absl::Status first_refusal, least_that_fits;  // the latter of all points
  for (const InputShapes& point : family.points()) {
    console.Progress(absl::StrCat("planning ", ShapesText(point)));
    const auto at_point = [&](const absl::Status& status) {
      return Annotate(status, ShapesText(point));
    };
    absl::StatusOr<Model> model = LoadModel(AtPoint(flags, point), console);
    kept.push_back(model.ok());
    if (!model.ok()) {
      const bool refused = ExitCodeOf(model.status()) == ExitCode::kUsage;
      if (!refused || !family.varies_in_several_inputs()) return at_point(model.status());
      if (first_refusal.ok()) first_refusal = at_point(model.status());
      ++planned.refused;
      continue;
    }
    ASHLAR_ASSIGN_OR_RETURN(const PlanRequest request,
                            RequestFor(*model, execution, planning, console));
    absl::StatusOr<PlannedModel> made = PlanModel(*std::move(model), request, console);
    if (KeepGreaterNeed(made.status(), ShapesText(point), least_that_fits)) continue;
    if (!made.ok()) return at_point(made.status());
    if (!least_that_fits.ok()) continue;
    if (made->packed != nullptr) {
      StreamedWeights* const streamed = made->packed->streamed();
      if (!planned.plans.empty()) {
        ASHLAR_RETURN_IF_ERROR(streamed->ShareWindowOf(*planned.plans[0].packed->streamed()));
      }
      planned.weights = streamed->window_bytes();
    } else {
      PlannedGraph& plan = *made->planned;
      if (!pool) pool.emplace(plan.device->alignment());
      pool->Add({&plan.graph, &plan.weights});
      planned.weights = pool->bytes();
    }
    planned.plans.push_back(*std::move(made));
  }
  ASHLAR_RETURN_IF_ERROR(least_that_fits);
  if (planned.plans.empty()) return first_refusal;
  planned.shapes.Keep(kept);
  return planned;
}

absl::StatusOr<std::vector<std::unique_ptr<Session>>> SessionsOf(PlannedFamily family) {
  const auto largest = absl::c_max_element(family.plans, [](const auto& a, const auto& b) {
    return a.plan().plan.plan.arena < b.plan().plan.plan.arena;
  });
  ASHLAR_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> allocated, AllocateArena(largest->plan()));
  SessionOptions options;
  options.arena = std::move(allocated);
  std::vector<std::shared_ptr<const Executable>> executables;  // streamed
  std::vector<std::unique_ptr<PlannedGraph>> plans;            // not packed yet
  for (PlannedModel& made : family.plans) {
    if (made.packed != nullptr) executables.push_back(std::move(made.packed));
    if (made.planned != nullptr) plans.push_back(std::move(made.planned));
  }
  if (executables.empty()) {
    ASHLAR_ASSIGN_OR_RETURN(executables, Executable::FromPlans(std::move(plans)));
  }
  std::vector<std::unique_ptr<Session>> sessions;
  for (const auto& executable : executables) {
    ASHLAR_ASSIGN_OR_RETURN(sessions.emplace_back(), Session::Create(executable, options));
  }
  return sessions;
}

absl::StatusOr<FamilySwitching> SwitchBetweenPoints(PlannedFamily family, int runs, uint64_t seed) {
  struct Point {
    InputTensors inputs;
    std::vector<HostTensor> outputs, first;
  };
  ASHLAR_ASSIGN_OR_RETURN(const std::vector<std::unique_ptr<Session>> sessions,
                          SessionsOf(std::move(family)));
  std::vector<Point> points(sessions.size());
  for (size_t i = 0; i < sessions.size(); ++i) {
    Point& point = points[i];
    const Graph& graph = sessions[i]->executable().graph();
    for (size_t k = 0; k < graph.inputs().size(); ++k) {
      const Binding& input = graph.inputs()[k];
      point.inputs[input.name] = RandomInput(graph.var(input.var).type, seed, static_cast<int>(k));
    }
    ASHLAR_ASSIGN_OR_RETURN(point.outputs, BindTensors(*sessions[i], point.inputs));
    point.first = OutputTensors(graph);
    ASHLAR_RETURN_IF_ERROR(sessions[i]->Run());
    for (size_t k = 0; k < point.outputs.size(); ++k) {
      std::memcpy(point.first[k].mutable_raw(), point.outputs[k].raw(),
                  static_cast<size_t>(point.outputs[k].bytes()));
    }
  }
  FamilySwitching switching;
  switching.runs = runs * static_cast<int64_t>(points.size());
  Random random(seed);
  StartHeapCounting();
  absl::Status status;
  for (int64_t i = 0; i < switching.runs && status.ok(); ++i) {
    const size_t at = random.Next() % points.size();
    Point& point = points[at];
    status = sessions[at]->ResetStates();
    if (status.ok()) status = sessions[at]->Run();
    bool equal = true;
    for (size_t k = 0; k < point.outputs.size(); ++k) {
      const auto bytes = static_cast<size_t>(point.outputs[k].bytes());
      equal = equal && std::memcmp(point.first[k].raw(), point.outputs[k].raw(), bytes) == 0;
      std::memset(point.outputs[k].mutable_raw(), 0, bytes);
    }
    switching.differing += !equal;
  }
  switching.heap = StopHeapCounting();
  ASHLAR_RETURN_IF_ERROR(status);
  return switching;
}

}  // namespace ashlar
