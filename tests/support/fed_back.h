// A graph evaluated on the host with its outputs as inputs of the next run: the reference of
// states.
#ifndef ASHLAR_TESTS_SUPPORT_FED_BACK_H_
#define ASHLAR_TESTS_SUPPORT_FED_BACK_H_

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/evaluate.h"
#include "tests/support/status.h"

namespace ashlar::testing {

class FedBack {
 public:
  // `links`: names of outputs and of the inputs that read them in the next run.
  FedBack(const Graph& graph, std::vector<std::pair<std::string, std::string>> links)
      : graph_(graph), links_(std::move(links)) {
    for (const Binding& input : graph_.inputs()) {
      values_[input.name] = HostTensor::Zeros(graph_.var(input.var).type);
    }
  }

  // Evaluates the graph, and feeds the outputs of links back. Returns the outputs by name.
  std::map<std::string, HostTensor> Step(const std::string& input, const HostTensor& value) {
    values_[input] = value;
    const std::vector<HostTensor> results =
        Value(EvaluateNodes(graph_, [&](const OperatorNode& node) -> absl::StatusOr<HostTensor> {
          return values_.at(node.binding);
        }));
    std::map<std::string, HostTensor> outputs;
    for (size_t i = 0; i < results.size(); ++i) outputs[graph_.outputs()[i].name] = results[i];
    for (const auto& [output, fed] : links_) values_[fed] = outputs.at(output);
    return outputs;
  }

  // Sets an input of the next run.
  void Set(const std::string& input, HostTensor value) { values_[input] = std::move(value); }
  // Returns an input of the next run.
  const HostTensor& Next(const std::string& input) const { return values_.at(input); }

 private:
  const Graph& graph_;
  const std::vector<std::pair<std::string, std::string>> links_;
  std::map<std::string, HostTensor> values_;  // by input
};

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_FED_BACK_H_
