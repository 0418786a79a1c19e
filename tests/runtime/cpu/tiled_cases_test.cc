// Tiles every case of every operator: the operators' own evaluation must give the same values as
// untiled.
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_cat.h"
#include "graph/tiling/tile.h"
#include "opr/table.h"
#include "tests/cases/case_graph.h"
#include "tests/support/kernel_request.h"
#include "tests/support/operators.h"
#include "tests/support/status.h"
#include "tests/support/tiled_graphs.h"

namespace ashlar::testing {
namespace {

TEST(TiledCases, GiveTheSameAsWhole) {
  std::map<std::string, int> tiled;  // by operator
  ForEachCaseGraph(31, [&](const KernelCase& test, const CaseGraph& whole) {
    const int rank = test.inputs[0].shape().rank();
    for (const char* kind : {"batch2", "rows2", "grid2x2"}) {
      if (rank != 4) continue;
      SCOPED_TRACE(absl::StrCat(test.name, ": ", test.op->type(), " ", ToString(test.op->params()),
                                " ", kind));
      const TileSpec spec =
          Value(TileSpec::Parse(absl::StrCat(whole.input, "-", whole.op, ":", kind)));
      const absl::StatusOr<Graph> parts =
          Tile(whole.graph, spec, NodesInOrder(whole.graph), Operators());
      if (!parts.ok()) {
        EXPECT_EQ(parts.status().code(), absl::StatusCode::kInvalidArgument) << parts.status();
        continue;
      }
      ++tiled[std::string(test.op->type())];
      const std::vector<HostTensor> values = Value(EvaluateGraph(*parts, {{"x", test.inputs[0]}}));
      EXPECT_LE(WorstError(values[0], test.expected[0], test.floor, /*signs=*/true), 1e-6);
    }
  });
  for (const char* type : {"Attention", "BatchNorm", "ConvBiasForward", "ConvolutionBackwardData",
                           "ConvolutionForward", "Elemwise", "GridSample", "LRN", "LayerNorm",
                           "Pad", "PoolingForward", "Resize", "Subtensor", "TypeCvt"}) {
    EXPECT_GE(tiled[type], 5) << type;
  }
}

}  // namespace
}  // namespace ashlar::testing
