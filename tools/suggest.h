// Finds the nearest name to a mistyped one.
#ifndef ASHLAR_TOOLS_SUGGEST_H_
#define ASHLAR_TOOLS_SUGGEST_H_

#include <string>
#include <vector>

namespace ashlar {

// Returns the number of insertions, deletions and replacements between two texts (Levenshtein).
int EditDistance(const std::string& a, const std::string& b);

// Returns the candidate with the least distance, of equal ones the first. Empty if there are none.
std::string Nearest(const std::string& name, const std::vector<std::string>& candidates);

}  // namespace ashlar

#endif  // ASHLAR_TOOLS_SUGGEST_H_
