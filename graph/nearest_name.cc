#include "graph/nearest_name.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace ashlar {
namespace {

constexpr size_t kMostTyped = 64;  // characters that are compared

}  // namespace

int EditDistance(const std::string& a, const std::string& b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

std::string Nearest(const std::string& name, const std::vector<std::string>& candidates) {
  const std::string typed = name.substr(0, kMostTyped);
  std::string best;
  int least = std::numeric_limits<int>::max();
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(typed, candidate);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

std::vector<std::string> NearestOnes(const std::string& name, std::vector<std::string> candidates,
                                     size_t count) {
  const std::string typed = absl::AsciiStrToLower(name).substr(0, kMostTyped);
  std::vector<std::tuple<bool, int, size_t>> order;  // contains it, distance, index
  for (size_t i = 0; i < candidates.size(); ++i) {
    const std::string candidate = absl::AsciiStrToLower(candidates[i]);
    const std::string end = candidate.substr(candidate.rfind('/') + 1);
    order.emplace_back(!absl::StrContains(candidate, typed),
                       std::min(EditDistance(typed, candidate), EditDistance(typed, end)), i);
  }
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end());
  std::vector<std::string> nearest;
  for (size_t i = 0; i < count; ++i) {
    nearest.push_back(std::move(candidates[std::get<size_t>(order[i])]));
  }
  return nearest;
}

}  // namespace ashlar
