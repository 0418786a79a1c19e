// Small graphs that together use every operator type and its variants.
#ifndef ASHLAR_TESTS_SERIALIZATION_SAMPLE_GRAPHS_H_
#define ASHLAR_TESTS_SERIALIZATION_SAMPLE_GRAPHS_H_

#include <string>
#include <vector>

#include "graph/graph.h"

namespace ashlar::testing {

struct SampleGraph {
  std::string name;
  Graph graph;
};

// Inputs are Float32. Constants are random, from a fixed seed.
std::vector<SampleGraph> SampleGraphs();

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SERIALIZATION_SAMPLE_GRAPHS_H_
