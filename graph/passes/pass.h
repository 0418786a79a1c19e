// Rewrites of a graph. Each pass is a function from graph to graph.
#ifndef ASHLAR_GRAPH_PASSES_PASS_H_
#define ASHLAR_GRAPH_PASSES_PASS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "graph/graph.h"
#include "graph/operator_table.h"

namespace ashlar {

// Whether the device has a kernel for operators of this type.
using HasKernel = std::function<bool(const Operator& op)>;

// The facts that passes have of the device, and the caller's wishes.
struct PassContext {
  const OperatorTable& operators;
  Format image_format = Format::kNCHW16c;  // FormatOfImages inside the graph
  DType precision = DType::kFloat32;       // or Float16, BFloat16
  bool chains = false;          // the device runs the operators that RewriteRules::Chain makes
  bool quantized_sums = false;  // and those that RewriteRules::AbsorbQuantized makes
  HasKernel has_kernel;         // empty: of every type
  bool reads_planes = false;    // Device::reads_planes
};

struct Pass {
  const char* name;     // as --passes takes it
  const char* summary;  // one line for --help
  absl::StatusOr<Graph> (*run)(const Graph& graph, const PassContext& context);
  // Null: always.
  bool (*applies)(const PassContext& context);
};

// All passes in the order in which they run:
//   fold_constants  evaluates vars that depend on constants and shapes alone
//   recognise       operators that exporters take apart: layer norm, attention, activations
//   fold_scale      channel-wise affine operators (batch norm, scale) into the weights before them
//   fuse            convolution + bias + residual + activation into one operator
//   sum             quantised tensors added where the convolution before rounds (on some devices)
//   clamp           bounds behind convolutions into depthwise ones that read them (on some devices)
//   chain           scalar functions one behind the other, products and biases (on some devices)
//   precision       16-bit floats where PrecisionRule allows, casts between (if asked for)
//   layout          images in the device's format, with RelayoutFormat at the borders
absl::Span<const Pass> AllPasses();

// "all", "none", or a comma-separated list of names; the order is always that of AllPasses.
absl::StatusOr<std::vector<Pass>> SelectPasses(absl::string_view list);

// Such a list of all that `list` names but one.
absl::StatusOr<std::string> PassesWithout(absl::string_view list, absl::string_view name);

// Runs before all passes, whichever are asked for: operators without a kernel become what
// RewriteRules::Compose makes of them; operators that it makes nothing of stay.
absl::StatusOr<Graph> Compose(Graph graph, const HasKernel& has_kernel);

absl::StatusOr<Graph> FoldConstants(const Graph& graph, const OperatorTable& operators);
absl::StatusOr<Graph> Recognise(const Graph& graph, const OperatorTable& operators,
                                const HasKernel& has_kernel = nullptr);
// Part of Recognise: movements of elements (RewriteRules::AsMovement) go behind the pointwise
// operators that read them, so that opposite ones meet and go away.
absl::StatusOr<Graph> SinkMovements(const Graph& graph, const OperatorTable& operators);
absl::StatusOr<Graph> FoldScale(const Graph& graph, const OperatorTable& operators);
absl::StatusOr<Graph> Fuse(const Graph& graph, const OperatorTable& operators);
// The merges of Fuse and Chain that leave no operator without 8 bits that had them
// (QuantizationRules): what is made of it is for a quantiser, no device may run it.
absl::StatusOr<Graph> FuseForQuantization(const Graph& graph, const OperatorTable& operators);
absl::StatusOr<Graph> FuseQuantizedSums(const Graph& graph, const OperatorTable& operators);
absl::StatusOr<Graph> MoveClamps(const Graph& graph, const OperatorTable& operators);
absl::StatusOr<Graph> Chain(const Graph& graph, const OperatorTable& operators);
// `precision` is Float16 or BFloat16. The caller's tensors keep their dtype.
absl::StatusOr<Graph> AssignPrecision(const Graph& graph, const OperatorTable& operators,
                                      DType precision);
// With `reads_planes` convolutions read row-major images of few channels in place; in blocked
// formats they always do.
absl::StatusOr<Graph> AssignLayout(const Graph& graph, const OperatorTable& operators,
                                   Format image_format = Format::kNCHW16c,
                                   bool reads_planes = false);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_PASSES_PASS_H_
