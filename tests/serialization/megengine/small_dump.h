// A profile dump of a small graph, as a document for tests to change.
#ifndef ASHLAR_TESTS_SERIALIZATION_MEGENGINE_SMALL_DUMP_H_
#define ASHLAR_TESTS_SERIALIZATION_MEGENGINE_SMALL_DUMP_H_

#include "graph/graph_builder.h"
#include "opr/convolution.h"
#include "opr/elemwise.h"
#include "opr/get_var_shape.h"
#include "opr/host_io.h"
#include "opr/reshape.h"
#include "runtime/cpu/cpu_device.h"
#include "runtime/plan/plan_graph.h"
#include "serialization/json_file.h"
#include "serialization/megengine/profile_dump.h"
#include "tests/support/graph_maker.h"

namespace ashlar::testing {

// Ids: input 0 (vars 1, 2), filter 3 (4), convolution 5 (6, 7), RELU 8 (9), bound 10 (11), its
// shape 12 (13), Reshape 14 (15), output 16 (17).
inline Graph SmallGraph() {
  GraphBuilder builder;
  const auto add = [&builder](OperatorPtr op, std::vector<int> inputs) {
    GraphBuilder::NodeOptions options;
    if (op->role() == Role::kInput) options.name = "data";
    // Ids count MegEngine's workspace, as in the zoo's models.
    if (op->type() == "ConvolutionForward")
      options.recorded_workspace = RecordedWorkspace{.id = -1};
    return Value(builder.Add(std::move(op), std::move(inputs), options))[0];
  };
  const int data =
      add(std::make_shared<InputCallback>(InputParam{DType::kFloat32, {1, 3, 8, 8}}), {});
  const int filter =
      add(Operators().MakeConstant(HostTensor::Zeros(DType::kFloat32, Shape{4, 3, 3, 3})), {});
  const int conv = add(std::make_shared<ConvolutionForward>(ConvolutionParam()), {data, filter});
  const int relu = add(std::make_shared<Elemwise>(ElemwiseParam()), {conv});
  const int model =
      add(Operators().MakeConstant(HostTensor::Zeros(DType::kFloat32, Shape{36, 4})), {});
  const int shape = add(std::make_shared<GetVarShape>(GetVarShapeParam()), {model});
  const int reshape = add(std::make_shared<Reshape>(ReshapeParam()), {relu, shape});
  add(std::make_shared<OutputCallback>(OutputParam()), {reshape});
  return Value(std::move(builder).Build());
}

// Records one millisecond per step.
inline ProfileRecord SmallRecord(const PlannedGraph& planned) {
  ProfileRecord record;
  for (size_t i = 0; i < planned.schedule.order.size(); ++i) {
    record.steps.push_back({i * 1e-3, (i + 1) * 1e-3});
  }
  // An address without a session; only differences of addresses count.
  record.arena = reinterpret_cast<const void*>(uintptr_t{1} << 32);
  record.weights = reinterpret_cast<const void*>(uintptr_t{1} << 40);
  return record;
}

// Plans for the CPU, without passes, in MegEngine's order.
inline std::unique_ptr<PlannedGraph> PlanAsRecorded(Graph graph, PlanRequest options = {}) {
  cpu::RegisterDevice();
  options.planning.passes = "none";
  options.planning.order = Order::kMegEngine;
  return Value(PlanGraph(std::move(graph), options));
}

inline const nlohmann::json& SmallDump() {
  static const auto* const dump = [] {
    const std::unique_ptr<PlannedGraph> planned = PlanAsRecorded(SmallGraph());
    return new nlohmann::json(
        nlohmann::json::parse(JsonText(ProfileDump(*planned, SmallRecord(*planned)), -1)));
  }();
  return *dump;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_MEGENGINE_SMALL_DUMP_H_
