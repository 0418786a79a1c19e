#include "runtime/session/steps.h"

#include <utility>

#include "graph/status.h"

namespace ashlar {
namespace {

class Resolver {
 public:
  Resolver(const Executable& executable, const StepSite& site, Binder& binder)
      : executable_(executable),
        arena_(static_cast<char*>(site.arena)),
        states_(executable.planned().state),
        memory_(site.state),
        binder_(binder) {}

  // Sets the pointer, or registers it for the caller's tensor. `Data` is const void or void.
  template <typename Data>
  void Resolve(const std::optional<Location>& location, Data** slot) {
    if (!location.has_value()) return;
    switch (location->pool) {
      case Pool::kArena:
        *slot = arena_ + location->offset;
        break;
      case Pool::kWeights:  // never written
        *slot = const_cast<char*>(executable_.AddressOf(*location));
        break;
      case Pool::kState:
        *slot = memory_.Find(states_.entries[location->binding].name) + location->offset;
        break;
      case Pool::kInput:
        binder_.Follow(Binder::Side::kInput, location->binding, location->offset, slot);
        break;
      case Pool::kOutput:
        binder_.Follow(Binder::Side::kOutput, location->binding, location->offset, slot);
        break;
    }
  }

 private:
  const Executable& executable_;
  char* const arena_;
  const StatePool& states_;
  const StateMemory& memory_;
  Binder& binder_;
};

}  // namespace

absl::StatusOr<std::vector<Step>> MakeSteps(const Executable& executable, const StepSite& site,
                                            Binder& binder) {
  const PlannedGraph& planned = executable.planned();
  const Graph& graph = planned.graph;
  Resolver resolver(executable, site, binder);
  std::vector<Step> steps(planned.schedule.order.size());
  for (size_t position = 0; position < steps.size(); ++position) {
    const int index = planned.schedule.order[position];
    const Kernel* kernel = planned.kernels[index].get();
    if (kernel == nullptr) continue;
    Step& step = steps[position];
    step.kernel = kernel;
    ASHLAR_ASSIGN_OR_RETURN(step.state, kernel->NewState());
    const OperatorNode& node = graph.node(index);
    step.inputs.resize(node.inputs.size(), nullptr);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      resolver.Resolve(planned.LocateInput(index, static_cast<int>(i)), &step.inputs[i]);
    }
    const std::vector<int>& outputs = node.outputs;
    step.outputs.resize(outputs.size(), nullptr);
    if (node.op->role() == Role::kOutput) {  // copies its input to the caller
      for (size_t i = 0; i < graph.outputs().size(); ++i) {
        if (graph.outputs()[i].node != index) continue;
        binder.Follow(Binder::Side::kOutput, static_cast<int>(i), 0, &step.outputs[0]);
      }
    } else {
      for (size_t i = 0; i < outputs.size(); ++i) {
        resolver.Resolve(planned.LocateOutput(index, static_cast<int>(i)), &step.outputs[i]);
      }
    }
    void* workspace = nullptr;
    resolver.Resolve(planned.LocateWorkspace(index), &workspace);
    step.args = {step.inputs, absl::MakeSpan(step.outputs), workspace, site.stream};
  }
  return steps;
}

}  // namespace ashlar
