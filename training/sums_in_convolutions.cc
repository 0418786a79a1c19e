#include "training/sums_in_convolutions.h"

#include "absl/container/flat_hash_map.h"
#include "graph/rewriter.h"
#include "graph/status.h"
#include "opr/convolution_backward_data.h"
#include "opr/elemwise.h"

namespace ashlar {
namespace {

// Returns the term of a sum that a transposed convolution makes and can add to: an index of the
// sum's inputs, or -1.
int TermOf(const Graph& step, const OperatorNode& sum) {
  if (!IsElemwise(*sum.op, ScalarFunction::kAdd) ||
      step.var(sum.inputs[0]).type != step.var(sum.inputs[1]).type) {
    return -1;
  }
  const int later = step.var(sum.inputs[0]).producer > step.var(sum.inputs[1]).producer ? 0 : 1;
  const int var = sum.inputs[static_cast<size_t>(later)];
  const OperatorNode& node = step.node(step.var(var).producer);
  const bool adds = node.op->type() == ConvolutionBackwardData::kType &&
                    node.inputs.size() == ConvolutionBackwardData::kZ &&
                    step.readers(var).size() == 1 && sum.inputs[0] != sum.inputs[1];
  return adds ? later : -1;
}

}  // namespace

absl::StatusOr<Graph> SumGradientsInConvolutions(const Graph& step) {
  absl::flat_hash_map<int, int> addend_of;  // by node that makes a term: the other term
  absl::flat_hash_map<int, int> sum_of;  // by node that adds: the term whose convolution makes it
  for (size_t n = 0; n < step.nodes().size(); ++n) {
    const OperatorNode& node = step.node(static_cast<int>(n));
    const int term = TermOf(step, node);
    if (term < 0) continue;
    addend_of[step.var(node.inputs[term]).producer] = node.inputs[1 - term];
    sum_of[static_cast<int>(n)] = node.inputs[term];
  }
  GraphRewriter rewriter(step);
  for (size_t n = 0; n < step.nodes().size(); ++n) {
    const OperatorNode& node = step.node(static_cast<int>(n));
    if (const auto sum = sum_of.find(static_cast<int>(n)); sum != sum_of.end()) {
      rewriter.Replace(node.outputs[0], rewriter.Map(sum->second));
      continue;
    }
    const auto addend = addend_of.find(static_cast<int>(n));
    if (addend == addend_of.end()) {
      ASHLAR_RETURN_IF_ERROR(rewriter.Copy(node));
      continue;
    }
    std::vector<int> inputs = rewriter.MapAll(node.inputs);
    inputs.push_back(rewriter.Map(addend->second));
    ASHLAR_RETURN_IF_ERROR(rewriter.Substitute(node, node.op, std::move(inputs)));
  }
  return std::move(rewriter).Finish();
}

}  // namespace ashlar
