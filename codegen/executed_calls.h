// The calls of a plan that its program makes.
#ifndef ASHLAR_CODEGEN_EXECUTED_CALLS_H_
#define ASHLAR_CODEGEN_EXECUTED_CALLS_H_

#include <optional>
#include <vector>

#include "runtime/mcu/code_kernel.h"
#include "runtime/plan/stages/planned_graph.h"

namespace ashlar {

// Returns the kernel of a node; null if it has none, or one that calls no C.
const mcu::CodeKernel* CodeKernelOf(const PlannedGraph& planned, int node);

// Returns the location of a node's output. For a Role::kOutput node this is the caller's tensor.
std::optional<Location> OutputOf(const PlannedGraph& planned, int node, int output);

// Returns whether the program makes this call of a node: not if it would copy data to the same
// place, or if nothing reads its output.
bool IsExecuted(const PlannedGraph& planned, int node, const mcu::CodeCall& call);

// Returns all of them, in their order.
std::vector<const mcu::CodeCall*> ExecutedCalls(const PlannedGraph& planned);

// Returns the instructions that a run is expected to take on the plan's processor (mcu0:0).
double ExpectedInstructions(const PlannedGraph& planned);

}  // namespace ashlar

#endif  // ASHLAR_CODEGEN_EXECUTED_CALLS_H_
