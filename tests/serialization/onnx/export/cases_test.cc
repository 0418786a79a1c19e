// Every case of every operator as an ONNX model: a valid one, or an error that names the part ONNX
// lacks.
#include <gmock/gmock.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "serialization/onnx/export/writer.h"
#include "tests/cases/case_graph.h"
#include "tests/serialization/onnx/valid_model.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr int kNewestCheckedSet = 17;  // the newest that the checker of ONNX 1.12 knows

TEST(OnnxCases, AreWrittenOrRefused) {
  TempDir dir;
  std::set<std::string> written, refused;
  ForEachCaseGraph(32, [&](const KernelCase& test, const CaseGraph& whole) {
    SCOPED_TRACE(::testing::Message()
                 << test.name << ": " << test.op->type() << " " << ToString(test.op->params()));
    const absl::Status status = WriteOnnx(whole.graph, dir / "m.onnx");
    if (status.code() == absl::StatusCode::kUnimplemented) {
      refused.emplace(test.op->type());
      return;
    }
    ASSERT_TRUE(IsOk(status));
    written.emplace(test.op->type());
    const onnx::ModelProto model = ParseOnnx(dir / "m.onnx");
    if (model.opset_import(0).version() <= kNewestCheckedSet) ExpectValid(model);
  });
  std::vector<std::string> never;
  std::set_difference(refused.begin(), refused.end(), written.begin(), written.end(),
                      std::back_inserter(never));
  // For training, made by a pass for GPUs, with a count, which ONNX has in the shape, or of a newer
  // operator set than is written (BitCast).
  EXPECT_THAT(never, ::testing::ElementsAre("AdamUpdate", "AddUpdate", "Assign", "BitCast",
                                            "ConvolutionFilterUpdate", "Dropout", "ElemwiseChain",
                                            "MatrixMulUpdate", "NonMaxSuppression", "NonZero",
                                            "PoolingBackward", "PoolingIndex",
                                            "PoolingIndexBackward", "SgdUpdate"));
}

}  // namespace
}  // namespace ashlar::testing
