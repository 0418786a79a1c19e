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

// Returns whether the device has a kernel for operators of this type.
using HasKernel = std::function<bool(const Operator& op)>;

// The properties of the device that passes use, and the caller's options.
struct PassContext {
  const OperatorTable& operators;
  Format image_format = Format::kNCHW16c;  // FormatOfImages inside the graph
  DType precision = DType::kFloat32;       // or Float16, BFloat16
  bool chains = false;                     // the device runs operators from RewriteRules::Chain
  bool quantized_sums = false;             // and from RewriteRules::AbsorbQuantized
  HasKernel has_kernel;                    // empty: for every type
  bool reads_planes = false;               // Device::reads_planes
};

struct Pass {
  const char* name;     // as in --passes
  const char* summary;  // one line for --help
  absl::StatusOr<Graph> (*run)(const Graph& graph, const PassContext& context);
  // Null: the pass always applies.
  bool (*applies)(const PassContext& context);
};

// Returns all passes in the order in which they run:
//   fold_constants  evaluates vars that depend on constants and shapes only
//   recognise       operators that exporters take apart: layer norm, attention, activations
//   fold_scale      channel-wise affine operators (batch norm, scale) into the weights before them
//   fuse            convolution + bias + residual + activation into one operator
//   sum             quantised tensors added where the convolution before rounds (on some devices)
//   clamp           clamps after convolutions into depthwise ones that read them (on some devices)
//   chain           consecutive scalar functions, products and biases (on some devices)
//   precision       16-bit floats if PrecisionRule allows them, casts between (if requested)
//   layout          images in the device's format, with RelayoutFormat at the boundaries
absl::Span<const Pass> AllPasses();

// Accepts "all", "none", or a comma-separated list of names. The order is always that given by
// AllPasses.
absl::StatusOr<std::vector<Pass>> SelectPasses(absl::string_view list);

// Returns a list of all passes that `list` selects except `name`.
absl::StatusOr<std::string> PassesWithout(absl::string_view list, absl::string_view name);

// Runs before all passes, whichever are selected: replaces operators without a kernel by their
// composition (RewriteRules::Compose). Operators without a composition stay.
absl::StatusOr<Graph> Compose(Graph graph, const HasKernel& has_kernel);

absl::StatusOr<Graph> FoldConstants(const Graph& graph, const OperatorTable& operators);
absl::StatusOr<Graph> Recognise(const Graph& graph, const OperatorTable& operators,
                                const HasKernel& has_kernel = nullptr);
// Part of Recognise: moves movements of elements (RewriteRules::AsMovement) after the pointwise
// operators that read them, so that opposite movements meet and cancel.
absl::StatusOr<Graph> SinkMovements(const Graph& graph, const OperatorTable& operators);
absl::StatusOr<Graph> FoldScale(const Graph& graph, const OperatorTable& operators);
absl::StatusOr<Graph> Fuse(const Graph& graph, const OperatorTable& operators);
// Replaces operators that read an image in another shape (RewriteRules::ReadingImage). For graphs
// that are tiled, before all passes.
absl::StatusOr<Graph> ReadImages(const Graph& graph, const OperatorTable& operators);
// Does the merges of Fuse and Chain, except merges that lose an operator's 8-bit implementation
// (QuantizationRules). The result is for a quantiser; possibly no device can run it.
absl::StatusOr<Graph> FuseForQuantization(const Graph& graph, const OperatorTable& operators);
absl::StatusOr<Graph> FuseQuantizedSums(const Graph& graph, const OperatorTable& operators);
absl::StatusOr<Graph> MoveClamps(const Graph& graph, const OperatorTable& operators);
absl::StatusOr<Graph> Chain(const Graph& graph, const OperatorTable& operators);
// `precision` is Float16 or BFloat16. The caller's tensors keep their dtype.
absl::StatusOr<Graph> AssignPrecision(const Graph& graph, const OperatorTable& operators,
                                      DType precision);
// If `reads_planes`, convolutions read row-major images of few channels in place; in blocked
// formats they always do.
absl::StatusOr<Graph> AssignLayout(const Graph& graph, const OperatorTable& operators,
                                   Format image_format = Format::kNCHW16c,
                                   bool reads_planes = false);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_PASSES_PASS_H_
