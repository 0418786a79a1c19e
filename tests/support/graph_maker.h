// Builds small graphs for tests, one line per node.
#ifndef ASHLAR_TESTS_SUPPORT_GRAPH_MAKER_H_
#define ASHLAR_TESTS_SUPPORT_GRAPH_MAKER_H_

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/graph_builder.h"
#include "opr/table.h"
#include "tests/support/status.h"

namespace ashlar::testing {

// A graph builder whose functions return the var they add. An invalid node ends the test.
class GraphMaker {
 public:
  int Input(const std::string& name, const Shape& shape, DType dtype = DType::kFloat32) {
    const std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
    return Add(Value(Operators().Make("Host2DeviceCopy",
                                      {{"dtype", std::string(Name(dtype))}, {"shape", dims}})),
               {}, name);
  }
  int Constant(HostTensor value) { return Add(Operators().MakeConstant(std::move(value)), {}); }
  int Add(OperatorPtr op, std::vector<int> inputs, const std::string& name = "") {
    GraphBuilder::NodeOptions options;
    options.name = name;
    return Value(builder_.Add(std::move(op), std::move(inputs), std::move(options)))[0];
  }
  template <typename Op>
  int Add(typename Op::Param param, std::vector<int> inputs, const std::string& name = "") {
    return Add(std::make_shared<const Op>(std::move(param)), std::move(inputs), name);
  }
  // Returns all outputs of an operator with several.
  std::vector<int> AddSeveral(OperatorPtr op, std::vector<int> inputs) {
    return Value(builder_.Add(std::move(op), std::move(inputs)));
  }
  void Output(int var) { Add(Value(Operators().Make("OutputCallback", {})), {var}); }

  const Var& var(int index) const { return builder_.graph().var(index); }
  Graph Build() && { return Value(std::move(builder_).Build()); }

 private:
  GraphBuilder builder_;
};

// Returns the types of the operators that compute, in order.
inline std::vector<std::string> ComputingTypes(const Graph& graph) {
  std::vector<std::string> types;
  for (const OperatorNode& node : graph.nodes()) {
    if (node.op->role() == Role::kCompute) types.emplace_back(node.op->type());
  }
  return types;
}

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_GRAPH_MAKER_H_
