// Runs a graph on the host's kernels and shows the value of each var.
#ifndef ASHLAR_QUANTIZATION_GRAPH_RUN_H_
#define ASHLAR_QUANTIZATION_GRAPH_RUN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "runtime/session/bind_tensors.h"
#include "runtime/session/session.h"

namespace ashlar {

using ValueVisitor = absl::FunctionRef<absl::Status(const Var& var, const HostTensor& value)>;

// The places of weights that are packed to run a graph.
struct RunMemory {
  std::string folder;            // for files without a name of large ones; empty: in memory
  DoneWith done_with = nullptr;  // for constants that were packed; may be empty
};

class GraphRun {
 public:
  // Passes as in PlanningOptions::passes. Vars that passes merge are not shown.
  static absl::StatusOr<std::unique_ptr<GraphRun>> Create(Graph graph, const PlanTarget& target,
                                                          const std::string& passes,
                                                          const RunMemory& memory = {});

  // Returns the outputs, in the order of the graph. Valid until the next run.
  absl::StatusOr<const std::vector<HostTensor>*> Run(const InputTensors& inputs,
                                                     ValueVisitor visit);

 private:
  std::unique_ptr<Session> session_;
  std::vector<HostTensor> outputs_;
};

}  // namespace ashlar

#endif  // ASHLAR_QUANTIZATION_GRAPH_RUN_H_
