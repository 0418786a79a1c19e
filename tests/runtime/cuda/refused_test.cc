// Plans every case of the CPU for a GPU, and lists the ones that a GPU refuses. docs/gpu.md has the
// same list in words.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "opr/conv_bias.h"
#include "runtime/plan/plan_graph.h"
#include "tests/cases/case_graph.h"
#include "tests/runtime/cuda/emulated_device.h"
#include "tests/support/environment.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

// The dtypes of input 0, by operator.
using DTypesByOperator = std::map<std::string, std::set<std::string>>;

// Whether a tensor has a dtype in which GPUs do not compute.
bool IsWide(const KernelCase& test) {
  const auto any = [](const std::vector<HostTensor>& tensors) {
    return std::any_of(tensors.begin(), tensors.end(), [](const HostTensor& tensor) {
      return tensor.dtype() == DType::kFloat64 || tensor.dtype() == DType::kUint64;
    });
  };
  return any(test.inputs) || any(test.expected);
}

TEST(CudaRefusals, AreOfTheseOperatorsAndDTypes) {
  EmulatedDevice::Install();
  PlanRequest request;
  request.target.comp_node = {CompNode::Type::kGpu, 0, 0};
  DTypesByOperator refused, planned;
  std::set<std::string> wide;  // operators that are refused because of Float64 or Uint64
  std::map<std::pair<std::string, std::string>, int> seen;  // cases by operator and dtype
  ForEachCase(CpuScope(), 51, [&](const KernelCase& test) {
    const bool again = !test.formats.empty() || test.in_place.has_value();
    if (again || test.op->role() != Role::kCompute) return;
    const std::string type(test.op->type());
    const std::string dtype(Name(test.inputs[0].dtype()));
    // Most cases of an operator differ only in sizes.
    if (++seen[{type, dtype}] > 8 && !LongTests()) return;
    const absl::Status status = PlanGraph(GraphOf(test).graph, request).status();
    if (status.ok()) {
      planned[type].insert(dtype);
      return;
    }
    EXPECT_TRUE(absl::IsUnimplemented(status)) << test.name << ": " << status;
    if (IsWide(test)) {  // a composition's operator is named
      wide.insert(type);
      return;
    }
    EXPECT_TRUE(FailsWith(status, type)) << "the operator is named";
    const auto* conv = dynamic_cast<const ConvBiasForward*>(test.op.get());
    if (conv != nullptr && !conv->param().addend.absent()) return;  // a pass for CPUs makes it
    refused[type].insert(dtype);
  });
  // Results whose size depends on data are found on the host alone.
  std::set<std::string> of_counts;
  for (const auto& [type, dtypes] : refused) of_counts.insert(type);
  EXPECT_EQ(of_counts,
            std::set<std::string>({"CheckCount", "IndicesWithin", "NonMaxSuppression", "NonZero"}));
  // Regression: kernels read doubles as zeros, or as floats.
  EXPECT_EQ(wide, std::set<std::string>({"ArgReduce", "BatchNorm", "ConvolutionForward", "CumSum",
                                         "Elemwise", "IntegerElemwise", "LRN", "MatrixMul",
                                         "NonZero", "PoolingForward", "Reduce", "ScatterElements",
                                         "ScatterND", "Softmax", "TopK", "TypeCvt"}));
  EXPECT_GT(planned.size(), 40u);
}

}  // namespace
}  // namespace ashlar::testing
