#ifndef ASHLAR_TESTS_MEMORY_PROBLEMS_H_
#define ASHLAR_TESTS_MEMORY_PROBLEMS_H_

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "memory/problem/buffer.h"
#include "memory/problem/validator.h"

namespace ashlar::memory::testing {

inline Problem MakeProblem(std::vector<Buffer> buffers, std::vector<Inside> inside = {}) {
  return {std::move(buffers), std::move(inside)};
}

// The features that a random problem may have.
struct Variety {
  int buffers = 6;
  int64_t steps = 8;
  int64_t largest = 6;  // Bytes.
  bool alignments = false;
  bool fixed = false;
  bool relations = false;
  bool zero_sizes = false;
};

// Returns the variety of a small problem, by the bits of the seed.
inline Variety VarietyOf(uint32_t seed, int buffers) {
  return {.buffers = buffers,
          .steps = 3 + seed % 7,
          .largest = 2 + seed % 4,
          .alignments = (seed & 8) != 0,
          .fixed = (seed & 16) != 0,
          .relations = (seed & 32) != 0,
          .zero_sizes = (seed & 64) != 0};
}

inline Problem RandomProblem(uint32_t seed, const Variety& variety);

// Returns a plain problem, or one with alignments, fixed offsets or relations, by the seed in turn.
inline Problem RandomProblemInTurn(uint32_t seed, Variety variety) {
  variety.alignments = seed % 4 == 1;
  variety.fixed = seed % 4 == 2;
  variety.relations = seed % 4 == 3;
  return RandomProblem(seed, variety);
}

inline Problem RandomProblem(uint32_t seed, const Variety& variety) {
  std::mt19937 random(seed);
  const auto draw = [&](int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random() % static_cast<uint64_t>(high - low + 1));
  };
  Problem problem;
  for (int i = 0; i < variety.buffers; ++i) {
    Buffer b;
    b.id = i;
    b.lower = draw(0, variety.steps - 1);
    b.upper = draw(b.lower + 1, variety.steps);
    b.size = draw(variety.zero_sizes ? 0 : 1, variety.largest);
    if (variety.alignments) b.alignment = int64_t{1} << draw(0, 2);
    problem.buffers.push_back(b);
  }
  if (variety.relations) {
    // Each buffer may lie inside of an earlier one that is large enough: no contradictions.
    for (int inner = 1; inner < variety.buffers; ++inner) {
      if (draw(0, 2) != 0) continue;
      const int outer = static_cast<int>(draw(0, inner - 1));
      Buffer& in = problem.buffers[inner];
      const Buffer& out = problem.buffers[outer];
      in.alignment = 1;
      in.size = std::min(in.size, out.size);
      problem.inside.push_back({inner, outer, draw(0, out.size - in.size)});
    }
  }
  if (variety.fixed) {
    // Fixed at the addresses of a stack of all buffers, which cannot contradict each other. A
    // buffer inside of others moves with the outermost, and any of the family may be fixed.
    std::vector<std::pair<int, int64_t>> place(problem.buffers.size());  // outermost, offset in it
    for (int i = 0; i < variety.buffers; ++i) place[i] = {i, 0};
    for (const Inside& r : problem.inside) {  // after the relations of its outer
      place[r.inner] = {place[r.outer].first, place[r.outer].second + r.offset};
    }
    int64_t top = 0;
    for (int outermost = 0; outermost < variety.buffers; ++outermost) {
      const Buffer out = problem.buffers[outermost];
      std::vector<int> family;
      for (int i = 0; i < variety.buffers; ++i) {
        if (place[i].first == outermost) family.push_back(i);
      }
      // A family without bytes could be fixed beyond every arena, and brute force would follow it.
      if (family.empty() || draw(0, 3) != 0 || (family.size() > 1 && out.size == 0)) continue;
      top = (top + draw(0, 3) + out.alignment - 1) / out.alignment * out.alignment;
      const int always = family[draw(0, static_cast<int64_t>(family.size()) - 1)];
      for (int i : family) {
        if (i == always || draw(0, 2) == 0) problem.buffers[i].offset = top + place[i].second;
      }
      top += out.size;
    }
  }
  return problem;
}

// Finds the smallest arena by trying every address for every buffer, lowest arena first; only for a
// handful of small buffers. Uses no planner code except the validator.
class BruteForce {
 public:
  explicit BruteForce(const Problem& problem) : problem_(problem) {}

  int64_t SmallestArena() {
    for (int64_t arena = 0;; ++arena) {
      plan_ = {};
      if (Fits(0, arena)) return arena;
    }
  }

 private:
  bool Fits(size_t index, int64_t arena) {
    if (index == problem_.buffers.size()) return true;
    const int64_t last = arena - problem_.buffers[index].size;
    // A buffer without bytes may lie at the very end, except for its alignment.
    const int64_t highest = problem_.buffers[index].size == 0 ? arena + 3 : last;
    for (int64_t offset = 0; offset <= highest; ++offset) {
      plan_.offsets.push_back(offset);
      if (PrefixIsValid() && Fits(index + 1, arena)) return true;
      plan_.offsets.pop_back();
    }
    // A fixed buffer without bytes may lie beyond every arena.
    const std::optional<int64_t> fixed = problem_.buffers[index].offset;
    if (fixed.has_value() && *fixed > highest && problem_.buffers[index].size == 0) {
      plan_.offsets.push_back(*fixed);
      if (PrefixIsValid() && Fits(index + 1, arena)) return true;
      plan_.offsets.pop_back();
    }
    return false;
  }

  // Checks the buffers placed so far, as a problem of their own. A relation through a later buffer
  // may excuse an overlap, so all later buffers' relations are kept by family.
  bool PrefixIsValid() const {
    const size_t placed = plan_.offsets.size();
    const Buffer& b = problem_.buffers[placed - 1];
    const int64_t at = plan_.offsets[placed - 1];
    if (at % b.alignment != 0 || (b.offset.has_value() && *b.offset != at)) return false;
    for (const Inside& r : problem_.inside) {
      if (static_cast<size_t>(std::max(r.inner, r.outer)) >= placed) continue;
      if (plan_.offsets[r.inner] != plan_.offsets[r.outer] + r.offset) return false;
    }
    const std::vector<int> family = Families();
    for (size_t i = 0; i + 1 < placed; ++i) {
      const Buffer& other = problem_.buffers[i];
      if (family[i] == family[placed - 1] || b.size == 0 || other.size == 0) continue;
      if (other.lower < b.upper && b.lower < other.upper && plan_.offsets[i] < at + b.size &&
          at < plan_.offsets[i] + other.size) {
        return false;
      }
    }
    return true;
  }

  std::vector<int> Families() const {
    std::vector<int> family(problem_.buffers.size());
    for (size_t i = 0; i < family.size(); ++i) family[i] = static_cast<int>(i);
    for (size_t pass = 0; pass < family.size(); ++pass) {
      for (const Inside& r : problem_.inside) {
        family[r.inner] = family[r.outer] = std::min(family[r.inner], family[r.outer]);
      }
    }
    return family;
  }

  const Problem& problem_;
  Plan plan_;
};

}  // namespace ashlar::memory::testing

#endif  // ASHLAR_TESTS_MEMORY_PROBLEMS_H_
