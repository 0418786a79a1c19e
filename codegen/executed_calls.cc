#include "codegen/executed_calls.h"

#include "runtime/mcu/instructions.h"

namespace ashlar {
namespace {

using Kind = mcu::CodeOperand::Kind;

std::optional<Location> LocationOf(const PlannedGraph& planned, int node,
                                   const mcu::CodeOperand& operand) {
  std::optional<Location> location = operand.kind == Kind::kInput
                                         ? planned.LocateInput(node, operand.index)
                                         : OutputOf(planned, node, operand.index);
  if (location) location->offset += operand.offset;
  return location;
}

}  // namespace

const mcu::CodeKernel* CodeKernelOf(const PlannedGraph& planned, int node) {
  return dynamic_cast<const mcu::CodeKernel*>(planned.kernels[static_cast<size_t>(node)].get());
}

std::optional<Location> OutputOf(const PlannedGraph& planned, int node, int output) {
  const Graph& graph = planned.graph;
  if (graph.node(node).op->role() != Role::kOutput) return planned.LocateOutput(node, output);
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    if (graph.outputs()[i].node == node) return Location{Pool::kOutput, static_cast<int>(i)};
  }
  return std::nullopt;
}

bool IsExecuted(const PlannedGraph& planned, int node, const mcu::CodeCall& call) {
  for (const mcu::CodeOperand& operand : call.operands) {
    const bool is_tensor = operand.kind == Kind::kInput || operand.kind == Kind::kOutput;
    if (is_tensor && !LocationOf(planned, node, operand)) return false;
  }
  if (!call.is_copy || call.operands.front().kind != Kind::kInput) return true;
  const Location from = *LocationOf(planned, node, call.operands.front());
  const Location to = *LocationOf(planned, node, call.operands.back());
  return from.pool != to.pool || from.binding != to.binding || from.offset != to.offset;
}

std::vector<const mcu::CodeCall*> ExecutedCalls(const PlannedGraph& planned) {
  std::vector<const mcu::CodeCall*> calls;
  for (const int node : planned.schedule.order) {
    const mcu::CodeKernel* const kernel = CodeKernelOf(planned, node);
    if (kernel == nullptr) continue;
    for (const mcu::CodeCall& call : kernel->calls()) {
      if (IsExecuted(planned, node, call)) calls.push_back(&call);
    }
  }
  return calls;
}

double ExpectedInstructions(const PlannedGraph& planned) {
  double sum = 0;
  for (const mcu::CodeCall* const call : ExecutedCalls(planned)) {
    sum += mcu::ExpectedInstructions(call->name, call->work, planned.processor().microcontroller);
  }
  return sum;
}

}  // namespace ashlar
