// Every case of every operator as an ONNX model: a valid one, or an error that says what ONNX
// lacks.
#include "serialization/onnx/writer.h"
#include "tests/cases/case_graph.h"
#include "tests/serialization/onnx/valid_model.h"
#include "tests/support/status.h"

namespace ashlar::testing {
namespace {

constexpr int kNewestCheckedSet = 17;  // that the checker of ONNX 1.12 knows

TEST(OnnxCases, AreWrittenOrRefused) {
  TempDir dir;
  int written = 0;
  ForEachCaseGraph(32, [&](const KernelCase& test, const CaseGraph& whole) {
    SCOPED_TRACE(::testing::Message()
                 << test.name << ": " << test.op->type() << " " << ToString(test.op->params()));
    const absl::Status status = WriteOnnx(whole.graph, dir / "m.onnx");
    if (status.code() == absl::StatusCode::kUnimplemented) return;
    ASSERT_TRUE(IsOk(status));
    ++written;
    const onnx::ModelProto model = ParseOnnx(dir / "m.onnx");
    if (model.opset_import(0).version() <= kNewestCheckedSet) ExpectValid(model);
  });
  EXPECT_GE(written, 100);
}

}  // namespace
}  // namespace ashlar::testing
