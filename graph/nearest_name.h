// Finds the nearest names to a mistyped one.
#ifndef ASHLAR_GRAPH_NEAREST_NAME_H_
#define ASHLAR_GRAPH_NEAREST_NAME_H_

#include <cstddef>
#include <string>
#include <vector>

namespace ashlar {

// Returns the number of insertions, deletions and replacements between two texts (Levenshtein).
int EditDistance(const std::string& a, const std::string& b);

// Returns the candidate with the least distance, of equal ones the first. Empty if there are none.
std::string Nearest(const std::string& name, const std::vector<std::string>& candidates);

// Returns at most `count` candidates, the nearest first, regardless of the case of letters.
// Candidates that contain the name come before all others. The name is compared with whole
// candidates and with their parts after the last '/', as exporters put a path before names.
std::vector<std::string> NearestOnes(const std::string& name, std::vector<std::string> candidates,
                                     size_t count);

}  // namespace ashlar

#endif  // ASHLAR_GRAPH_NEAREST_NAME_H_
