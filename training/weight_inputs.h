// The constants that layers compute with.
#ifndef ASHLAR_TRAINING_WEIGHT_INPUTS_H_
#define ASHLAR_TRAINING_WEIGHT_INPUTS_H_

#include <vector>

#include "graph/graph.h"

namespace ashlar {

// Returns the inputs of a node that hold weights: of convolutions, products, layer and batch norms,
// and of biases added after convolutions and products.
std::vector<int> WeightInputs(const Graph& graph, const OperatorNode& node);

// Whether a var is a constant that can be trained.
bool IsWeight(const Graph& graph, int var);

// One place that reads a var.
struct VarRead {
  int node = 0, input = 0;
};

// Follows operators that only move elements, from an input of a node back to the read of the var
// with the original elements.
VarRead ReadOfOriginal(const Graph& graph, VarRead read);
// Returns the var with the original elements.
int MovedFrom(const Graph& graph, int var);

// Returns the constants that say which layer a weight belongs to: all other weights of the layer
// whose elements are not all equal. A layer that is applied twice reads the same ones.
std::vector<int> LayerOf(const Graph& graph, VarRead weight);

}  // namespace ashlar

#endif  // ASHLAR_TRAINING_WEIGHT_INPUTS_H_
