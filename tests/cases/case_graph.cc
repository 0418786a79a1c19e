#include "tests/cases/case_graph.h"

#include "opr/type_cvt.h"
#include "tests/support/graph_maker.h"

namespace ashlar::testing {

CaseGraph GraphOf(const KernelCase& test) {
  GraphMaker maker;
  const HostTensor& x = test.inputs[0];
  std::vector<int> inputs = {maker.Input("x", x.shape(), StoredAs(x.dtype()))};
  const int input = inputs[0];
  if (IsQuantized(x.dtype())) {
    const Quantization& q = x.quantization();
    inputs[0] = maker.Add<TypeCvt>({x.dtype(), q.scale(), q.zero_point()}, {input}, "integers");
  }
  for (size_t i = 1; i < test.inputs.size(); ++i) inputs.push_back(maker.Constant(test.inputs[i]));
  const int output = maker.Add(test.op, inputs, "y");
  for (size_t i = 0; i < test.expected.size(); ++i) maker.Output(output + static_cast<int>(i));
  CaseGraph result;
  const int input_node = maker.var(input).producer, op_node = maker.var(output).producer;
  result.graph = std::move(maker).Build();
  result.input = result.graph.node(input_node).id;
  result.op = result.graph.node(op_node).id;
  return result;
}

void ForEachCaseGraph(uint64_t seed,
                      const std::function<void(const KernelCase&, const CaseGraph&)>& run) {
  ForEachCase(CpuScope(), seed, [&](const KernelCase& test) {
    const HostTensor& x = test.inputs[0];
    const bool again = !test.formats.empty() || test.in_place.has_value();
    if (again || x.dtype() != DType::kFloat32 || x.num_elements() == 0) return;
    if (test.op->role() != Role::kCompute) return;
    run(test, GraphOf(test));
  });
}

}  // namespace ashlar::testing
