// Binds all tensors of a session at once.
#ifndef ASHLAR_RUNTIME_SESSION_BIND_TENSORS_H_
#define ASHLAR_RUNTIME_SESSION_BIND_TENSORS_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/tensor.h"
#include "runtime/session/session.h"

namespace ashlar {

// Tensors for all inputs of a graph, by binding name.
using InputTensors = std::map<std::string, HostTensor>;

// Returns zero tensors for all outputs, in the order of Graph::outputs().
std::vector<HostTensor> OutputTensors(const Graph& graph);

// Binds the tensors; their data must stay until other tensors are bound. `outputs` are the first of
// Graph::outputs(), in their order; further outputs stay bound as they are. InvalidArgument, naming
// the input, if one has no tensor; InvalidArgument if there are more tensors than outputs.
absl::Status BindTensors(Session& session, const InputTensors& inputs,
                         std::vector<HostTensor>& outputs);

// Binds these inputs and OutputTensors, and returns the latter.
absl::StatusOr<std::vector<HostTensor>> BindTensors(Session& session, const InputTensors& inputs);

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SESSION_BIND_TENSORS_H_
