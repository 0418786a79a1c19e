// Graphs whose states read each other: exchanged, rotated, reshaped, computed from each other.
#ifndef ASHLAR_TESTS_SUPPORT_CROSSING_STATES_H_
#define ASHLAR_TESTS_SUPPORT_CROSSING_STATES_H_

#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace ashlar::testing {

inline const Shape kCrossingImage = {1, 4, 24, 20};

// A graph with the input "x", the output "y", and inputs and outputs that become states. The images
// between its convolutions are wide.
struct CrossingStates {
  std::string name;
  Graph graph;
  std::vector<std::pair<std::string, std::string>> links;  // output, input
};

std::vector<CrossingStates> MakeCrossingStates();

}  // namespace ashlar::testing

#endif  // ASHLAR_TESTS_SUPPORT_CROSSING_STATES_H_
