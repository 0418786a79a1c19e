#include "serialization/megengine/import.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "graph/graph_builder.h"
#include "graph/status.h"
#include "opr/table.h"
#include "serialization/megengine/conventions.h"
#include "serialization/megengine/seeded_weights.h"
#include "serialization/reject.h"

namespace ashlar {
namespace {

// A few bytes of a dump can demand any amount of weights.

constexpr char kConstantType[] = "ImmutableTensor";

std::string OperatorPlace(int id) { return absl::StrCat("graph_exec.operator.", id); }
std::string VarPlace(int id) { return absl::StrCat("graph_exec.var.", id); }

// The possible parameters of an operator that never ran. MegEngine leaves only shape arithmetic to
// static inference. The first parameters that give the recorded types are used.
struct GuessRow {
  const char* type;
  std::vector<ParamList> (*guesses)(size_t num_inputs);
};

// An index for each bound, otherwise bounds of axis 0.
std::vector<ParamList> GuessSubtensor(size_t num_inputs) {
  const size_t bounds = num_inputs > 0 ? num_inputs - 1 : 0;
  const auto params = [](size_t rows, std::array<int64_t, 4> given) {
    std::vector<int64_t> axis;
    for (size_t i = 0; i < rows; ++i) axis.push_back(static_cast<int64_t>(i));
    const auto column = [&](int i) { return std::vector<int64_t>(rows, given[i]); };
    return ParamList{{"axis", axis},
                     {"begin", column(0)},
                     {"end", column(1)},
                     {"step", column(2)},
                     {"idx", column(3)}};
  };
  std::vector<ParamList> guesses = {params(bounds, {0, 0, 0, 1})};
  if (bounds == 1) {
    guesses.push_back(params(1, {1, 0, 0, 0}));
    guesses.push_back(params(1, {0, 1, 0, 0}));
  }
  if (bounds == 2) guesses.push_back(params(1, {1, 1, 0, 0}));
  if (bounds == 3) guesses.push_back(params(1, {1, 1, 1, 0}));
  return guesses;
}

constexpr GuessRow kGuesses[] = {
    {"Concat",
     [](size_t) {
       return std::vector<ParamList>{{{"axis", int64_t{0}}}};
     }},
    {"GetVarShape",
     [](size_t) {
       return std::vector<ParamList>{ParamList(), {{"axis", int64_t{0}}}};
     }},
    {"Subtensor", GuessSubtensor},
};

// Whether a value equals the recorded one, if one was recorded.
bool HoldsRecorded(const HostTensor& value, const DumpVar& recorded) {
  if (!recorded.value.has_value() || !value.has_data()) return true;
  if (static_cast<int64_t>(recorded.value->size()) != value.num_elements()) return false;
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    const double element = (*recorded.value)[i];
    if (std::abs(value.At(i) - element) > 1e-6 * std::abs(element)) return false;
  }
  return true;
}

class Importer {
 public:
  Importer(const ProfileRecording& recording, const ImportOptions& options)
      : recording_(recording), options_(options) {}

  absl::StatusOr<Graph> Import() && {
    FindNeeded();
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> order, TopologicalOrder());
    for (int id : order) {
      if (absl::Status status = AddOperator(id); !status.ok()) {
        return Annotate(status, OperatorPlace(id));
      }
    }
    absl::StatusOr<Graph> graph = std::move(builder_).Build();
    if (!graph.ok()) return Annotate(graph.status(), "graph_exec");
    return graph;
  }

 private:
  const DumpVar& VarAt(int id) const { return recording_.vars.at(id); }

  void FindNeeded() {
    std::vector<int> stack = recording_.comp_seq;
    while (!stack.empty()) {
      const int id = stack.back();
      stack.pop_back();
      if (!needed_.insert(id).second) continue;
      const DumpOperator& op = recording_.operators.at(id);
      for (size_t i = 0; i < op.inputs.size(); ++i) {
        readers_[op.inputs[i]].push_back({id, i});
        stack.push_back(VarAt(op.inputs[i]).producer);
      }
    }
  }

  // Producers come first; ties are ordered by id.
  absl::StatusOr<std::vector<int>> TopologicalOrder() const {
    std::map<int, size_t> waiting;  // inputs without producer yet, by operator
    std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
    for (int id : needed_) {
      waiting[id] = recording_.operators.at(id).inputs.size();
      if (waiting[id] == 0) ready.push(id);
    }
    std::vector<int> order;
    while (!ready.empty()) {
      const int id = ready.top();
      ready.pop();
      order.push_back(id);
      waiting.erase(id);
      for (int output : recording_.operators.at(id).outputs) {
        const auto readers = readers_.find(output);
        if (readers == readers_.end()) continue;
        for (const auto& [reader, input] : readers->second) {
          if (--waiting[reader] == 0) ready.push(reader);
        }
      }
    }
    if (waiting.empty()) return order;
    return Reject(OperatorPlace(waiting.begin()->first), ": depends on itself, with ",
                  waiting.size() - 1, " other operators on a cycle or after it");
  }

  absl::Status AddOperator(int id) {
    const DumpOperator& recorded = recording_.operators.at(id);
    ASHLAR_ASSIGN_OR_RETURN(OperatorPtr op, MakeOperator(recorded));
    if (op->role() == Role::kInput) {
      // After an input is freed, its size in memory is all that is known of its type.
      const DumpVar& var = VarAt(recorded.outputs[0]);
      ASHLAR_ASSIGN_OR_RETURN(const std::vector<TensorType> types, op->Infer({}));
      if (var.begin != 0 && var.end - var.begin != types[0].bytes()) {
        return Reject("input ", types[0].ToString(), " has ", types[0].bytes(), " bytes, but ",
                      var.end - var.begin, " were recorded in ", VarPlace(recorded.outputs[0]));
      }
    }
    GraphBuilder::NodeOptions options;
    options.name = recorded.name;
    options.id = id;
    options.priority = recorded.priority;
    options.output_ids = recorded.outputs;
    if (EndsWithWorkspace(recorded)) {
      ASHLAR_ASSIGN_OR_RETURN(options.recorded_workspace, Workspace(recorded.outputs.back()));
      options.output_ids.pop_back();
    }
    for (int output : options.output_ids) options.output_names.push_back(VarAt(output).name);
    std::vector<int> inputs;
    for (int input : recorded.inputs) {
      const auto made = made_.find(input);
      if (made == made_.end()) return Reject("input ", input, " is not made");
      inputs.push_back(made->second);
    }
    ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> outputs,
                            builder_.Add(std::move(op), std::move(inputs), std::move(options)));
    for (size_t i = 0; i < outputs.size(); ++i) {
      made_[recorded.outputs[i]] = outputs[i];
      ASHLAR_RETURN_IF_ERROR(CheckRecorded(recorded.outputs[i], outputs[i]));
    }
    return absl::OkStatus();
  }

  // MegEngine lists a workspace after the values.
  bool EndsWithWorkspace(const DumpOperator& recorded) const {
    if (recorded.outputs.size() < 2) return false;
    const std::vector<std::string>& flags = VarAt(recorded.outputs.back()).flags;
    return ConventionsOf(recorded.type).has_workspace ||
           std::find(flags.begin(), flags.end(), "VOLATILE_CONTENT") != flags.end();
  }

  absl::StatusOr<RecordedWorkspace> Workspace(int id) const {
    RecordedWorkspace workspace{.id = id};
    const std::optional<Shape>& shape = VarAt(id).shape;
    if (!shape.has_value()) return workspace;
    if (shape->rank() != 1) {
      return Reject("workspace ", VarPlace(id), " has the shape ", shape->ToString(),
                    ", expected rank 1");
    }
    workspace.bytes = (*shape)[0];
    return workspace;
  }

  absl::StatusOr<OperatorPtr> MakeOperator(const DumpOperator& recorded) {
    if (recorded.type == kConstantType) return MakeConstant(recorded.outputs[0]);
    ParamList params;
    if (recorded.footprint.has_value()) {
      params = recorded.footprint->params;
    } else {
      params = GuessParams(recorded);
    }
    const std::optional<Shape>& shape = VarAt(recorded.outputs[0]).shape;
    if (recorded.type == "Subtensor" && shape.has_value() && shape->rank() > 0) {
      params.emplace_back("min_rank", int64_t{1});
    }
    if (recorded.type == "InputCallback" || recorded.type == "Host2DeviceCopy") {
      ASHLAR_ASSIGN_OR_RETURN(const TensorType type, InputType(recorded.outputs[0]));
      const absl::Span<const int64_t> dims = type.shape.dims();
      params = {{"dtype", std::string(Name(type.dtype))},
                {"shape", std::vector<int64_t>(dims.begin(), dims.end())}};
    }
    absl::StatusOr<OperatorPtr> op = Operators().Make(recorded.type, params);
    if (op.ok()) return op;
    return Reject(op.status().message(), recorded.footprint.has_value()
                                             ? " in profiler.opr_footprint"
                                             : "; it has no profiler.opr_footprint");
  }

  ParamList GuessParams(const DumpOperator& recorded) {
    for (const GuessRow& row : kGuesses) {
      if (recorded.type != row.type) continue;
      const std::vector<ParamList> guesses = row.guesses(recorded.inputs.size());
      for (const ParamList& params : guesses) {
        if (MakesRecorded(recorded, params)) return params;
      }
      return guesses[0];
    }
    return {};
  }

  bool MakesRecorded(const DumpOperator& recorded, const ParamList& params) {
    const absl::StatusOr<OperatorPtr> op = Operators().Make(recorded.type, params);
    if (!op.ok()) return false;
    std::vector<HostTensor> inputs;
    std::vector<InputInfo> infos;
    for (size_t i = 0; i < recorded.inputs.size(); ++i) {
      const auto made = made_.find(recorded.inputs[i]);
      if (made == made_.end()) return false;
      const TensorType& type = builder_.graph().var(made->second).type;
      const HostTensor* value = builder_.StaticValue(made->second);
      const bool by_shape = (*op)->input_use(static_cast<int>(i)) == InputUse::kShape;
      if (value == nullptr && !by_shape) return false;
      inputs.push_back(by_shape ? HostTensor::ShapeOnly(type.dtype, type.shape) : *value);
    }
    for (const HostTensor& input : inputs) {
      infos.push_back({{input.dtype(), input.shape()}, input.has_data() ? &input : nullptr});
    }
    const DumpVar& output = VarAt(recorded.outputs[0]);
    const absl::StatusOr<std::vector<TensorType>> types = (*op)->Infer(infos);
    if (!types.ok() || (output.shape.has_value() && *output.shape != (*types)[0].shape)) {
      // MegEngine has no rank 0: an index into a vector gives {1}.
      const bool scalar = types.ok() && (*types)[0].shape.rank() == 0 && *output.shape == Shape{1};
      if (!scalar) return false;
    }
    // Only short values are recorded, so nothing large is evaluated here.
    if (!output.value.has_value()) return true;
    if ((*types)[0].shape.num_elements() != static_cast<int64_t>(output.value->size()))
      return false;
    const absl::StatusOr<std::vector<HostTensor>> values = (*op)->Evaluate(inputs);
    return values.ok() && HoldsRecorded((*values)[0], output);
  }

  // Returns the type of an input. MegEngine does not keep its shape, but the readers recorded it.
  absl::StatusOr<TensorType> InputType(int id) const {
    const DumpVar& var = VarAt(id);
    const DType dtype = var.dtype.value_or(DType::kFloat32);
    if (var.shape.has_value()) return TensorType{dtype, *var.shape};
    const auto readers = readers_.find(id);
    if (readers != readers_.end()) {
      for (const auto& [reader, input] : readers->second) {
        const std::optional<DumpFootprint>& footprint = recording_.operators.at(reader).footprint;
        if (!footprint.has_value() || footprint->in_shapes[input].empty()) continue;
        return TensorType{dtype, Shape(footprint->in_shapes[input])};
      }
    }
    return Reject("no shape was recorded for the input ", VarPlace(id));
  }

  // Makes a constant. Constants without a layout were never on the device: they belong to shape
  // arithmetic, which uses integers.
  absl::StatusOr<OperatorPtr> MakeConstant(int id) {
    const DumpVar& var = VarAt(id);
    if (!var.shape.has_value()) return Reject("no shape was recorded for ", VarPlace(id));
    const Shape& shape = *var.shape;
    const DType fallback = var.value.has_value() ? DType::kInt32 : DType::kFloat32;
    const TensorType type{var.dtype.value_or(fallback), shape};
    weight_bytes_ += type.bytes();
    const int64_t most = options_.most_weight_bytes;
    if (type.bytes() > most || weight_bytes_ > most) {
      return Reject("constants of more than ", most, " bytes, up to ", VarPlace(id));
    }
    if (!var.value.has_value()) {
      const uint64_t seed = options_.seed * 0x10001 + static_cast<uint64_t>(id);
      return Operators().MakeConstant(SeededWeight(type.dtype, shape, UseOf(id), seed));
    }
    if (static_cast<int64_t>(var.value->size()) != shape.num_elements()) {
      return Reject(var.value->size(), " values for the shape ", shape.ToString(), " of ",
                    VarPlace(id));
    }
    HostTensor value = HostTensor::Zeros(type.dtype, shape);
    for (size_t i = 0; i < var.value->size(); ++i) {
      value.Set(static_cast<int64_t>(i), (*var.value)[i]);
    }
    return Operators().MakeConstant(std::move(value));
  }

  // Returns kResidual if the product with the weight is added to a var that is not constant.
  WeightUse UseOf(int weight) const {
    for (int product : ProductsOf(weight)) {
      const auto readers = readers_.find(product);
      if (readers == readers_.end()) continue;
      for (const auto& [reader, input] : readers->second) {
        const DumpOperator& op = recording_.operators.at(reader);
        int variables = 0;
        for (int operand : op.inputs) {
          variables += recording_.operators.at(VarAt(operand).producer).type != kConstantType;
        }
        if (variables > 1) return WeightUse::kResidual;
      }
    }
    return WeightUse::kPlain;
  }

  std::vector<int> ProductsOf(int weight) const {
    std::vector<int> products;
    const auto readers = readers_.find(weight);
    if (readers == readers_.end()) return products;
    for (const auto& [reader, input] : readers->second) {
      products.push_back(recording_.operators.at(reader).outputs[0]);
    }
    return products;
  }

  absl::Status CheckRecorded(int id, int index) {
    const DumpVar& recorded = VarAt(id);
    const Var& var = builder_.graph().var(index);
    if (recorded.shape.has_value() && *recorded.shape != var.type.shape) {
      return Reject("makes ", var.type.ToString(), ", but ", VarPlace(id), " was recorded as ",
                    recorded.shape->ToString());
    }
    if (recorded.dtype.has_value() && *recorded.dtype != var.type.dtype) {
      return Reject("makes ", var.type.ToString(), ", but ", VarPlace(id), " was recorded as ",
                    Name(*recorded.dtype));
    }
    const HostTensor* value = recorded.value.has_value() ? builder_.StaticValue(index) : nullptr;
    if (value == nullptr || HoldsRecorded(*value, recorded)) return absl::OkStatus();
    return Reject("makes other values than were recorded in ", VarPlace(id));
  }

  const ProfileRecording& recording_;
  const ImportOptions options_;
  GraphBuilder builder_;
  std::set<int> needed_;                                        // operators
  std::map<int, std::vector<std::pair<int, size_t>>> readers_;  // by var: operator and input index
  std::map<int, int> made_;                                     // graph var by var id
  int64_t weight_bytes_ = 0;
};

}  // namespace

absl::StatusOr<Graph> ImportGraph(const ProfileRecording& recording, const ImportOptions& options) {
  return Importer(recording, options).Import();
}

}  // namespace ashlar
