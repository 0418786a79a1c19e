#include "training/own_weights.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "graph/one_value.h"
#include "graph/rewriter.h"
#include "graph/status.h"
#include "opr/batch_norm.h"
#include "opr/table.h"
#include "training/weight_inputs.h"

namespace ashlar {
namespace {

using Place = std::pair<int, int>;  // a node and its input

// The places that read a constant as one weight.
struct OwnWeight {
  std::vector<int> layer;  // LayerOf; empty: a layer that has no other weights
  std::vector<Place> places;
};

// By constant: its weights, in the order of the graph.
using OwnWeights = std::map<int, std::vector<OwnWeight>>;

int64_t CountReads(const Graph& model, int var) {
  int64_t reads = 0;
  for (const int reader : model.readers(var)) {
    const std::vector<int>& inputs = model.node(reader).inputs;
    reads += std::count(inputs.begin(), inputs.end(), var);
  }
  return reads;
}

bool Contains(const std::vector<OwnWeight>& weights, Place place) {
  return std::any_of(weights.begin(), weights.end(), [&](const OwnWeight& weight) {
    return std::count(weight.places.begin(), weight.places.end(), place) > 0;
  });
}

class OwnWeightFinder {
 public:
  explicit OwnWeightFinder(const Graph& model) : model_(model) {}

  OwnWeights Find() && {
    for (size_t n = 0; n < model_.nodes().size(); ++n) {
      const int index = static_cast<int>(n);
      const OperatorNode& node = model_.node(index);
      if (node.op->type() == BatchNorm::kType) {
        for (const int input :
             {BatchNorm::kScale, BatchNorm::kBias, BatchNorm::kMean, BatchNorm::kVariance}) {
          AddOfNorm({index, input});
        }
        continue;
      }
      for (const int input : WeightInputs(model_, node)) {
        if (input < static_cast<int>(node.inputs.size())) AddOfLayer({index, input});
      }
    }
    return std::move(found_);
  }

 private:
  // Whether a var is a constant of this kind that something else reads, too.
  bool IsShared(int var) const {
    const HostTensor* const value = model_.constant(var);
    return value != nullptr && value->has_data() && value->dtype() == DType::kFloat32 &&
           CountReads(model_, var) > 1;
  }

  void AddOfNorm(VarRead read) {
    const int var = model_.node(read.node).inputs[read.input];
    if (IsShared(var)) found_[var].push_back({{}, {{read.node, read.input}}});
  }

  void AddOfLayer(VarRead weight) {
    const VarRead read = ReadOfOriginal(model_, weight);
    const int var = model_.node(read.node).inputs[read.input];
    if (!IsShared(var) || !HasOneValue(*model_.constant(var))) return;
    const Place place = {read.node, read.input};
    std::vector<OwnWeight>& weights = found_[var];
    if (Contains(weights, place)) return;  // several layers read what one node has moved
    std::vector<int> layer = LayerOf(model_, weight);
    const auto same = std::find_if(weights.begin(), weights.end(), [&](const OwnWeight& other) {
      return !layer.empty() && other.layer == layer;
    });
    if (same != weights.end()) {
      same->places.push_back(place);
    } else {
      weights.push_back({std::move(layer), {place}});
    }
  }

  const Graph& model_;
  OwnWeights found_;
};

}  // namespace

absl::StatusOr<Graph> WithOwnWeights(Graph model) {
  std::map<Place, const OwnWeight*> copied;
  const OwnWeights found = OwnWeightFinder(model).Find();
  for (const auto& [var, weights] : found) {
    size_t reads = 0;
    for (const OwnWeight& weight : weights) reads += weight.places.size();
    const bool only_weights = static_cast<int64_t>(reads) == CountReads(model, var);
    for (const OwnWeight& weight : weights) {
      if (only_weights && &weight == &weights.front()) continue;  // it keeps the constant
      for (const Place& place : weight.places) copied[place] = &weight;
    }
  }
  if (copied.empty()) return model;
  GraphRewriter rewriter(model);
  std::map<const OwnWeight*, int> copies;
  for (size_t n = 0; n < model.nodes().size(); ++n) {
    const OperatorNode& node = model.node(static_cast<int>(n));
    std::vector<int> inputs = rewriter.MapAll(node.inputs);
    bool changed = false;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto it = copied.find({static_cast<int>(n), static_cast<int>(i)});
      if (it == copied.end()) continue;
      const auto [copy, added] = copies.try_emplace(it->second, -1);
      if (added) {
        const OperatorNode& constant = model.node(model.var(node.inputs[i]).producer);
        GraphBuilder::NodeOptions options;
        options.name = constant.name;
        options.output_names = {model.var(node.inputs[i]).name};
        ASHLAR_ASSIGN_OR_RETURN(const std::vector<int> made,
                                rewriter.builder().Add(constant.op, {}, std::move(options)));
        copy->second = made[0];
      }
      inputs[i] = copy->second;
      changed = true;
    }
    ASHLAR_RETURN_IF_ERROR(changed ? rewriter.Substitute(node, node.op, std::move(inputs))
                                   : rewriter.Copy(node));
  }
  return std::move(rewriter).Finish();
}

}  // namespace ashlar
