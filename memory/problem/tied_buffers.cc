#include "memory/problem/tied_buffers.h"

#include <algorithm>
#include <numeric>

namespace ashlar::memory {

std::vector<int> FirstTied(const Problem& problem) {
  std::vector<int> parent(problem.buffers.size());
  std::iota(parent.begin(), parent.end(), 0);
  const auto find = [&](int i) {
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
  };
  for (const Inside& relation : problem.inside) {
    const int a = find(relation.inner), b = find(relation.outer);
    parent[std::max(a, b)] = std::min(a, b);
  }
  std::vector<int> first;
  for (size_t i = 0; i < parent.size(); ++i) first.push_back(find(static_cast<int>(i)));
  return first;
}

}  // namespace ashlar::memory
