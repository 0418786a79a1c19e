#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "memory/heuristics/online.h"
#include "memory/megengine/megengine_planners.h"

namespace ashlar::memory {
namespace {

constexpr int32_t kFree = -1;  // no group holds it

// A block of the simulation. Blocks are in a row and have no addresses. No two free blocks are
// neighbours.
struct Block {
  int64_t size;
  int32_t holder;     // the group that holds it, or kFree
  int32_t freed = 0;  // section at which it became free
  int64_t serial = 0;
};

// Best fit over blocks that can grow.
class Simulation {
 public:
  explicit Simulation(const Instance& instance)
      : instance_(instance), block_(instance.groups()), above_(instance.groups()) {}

  void Run(const std::vector<int32_t>& order) {
    std::set<std::pair<int32_t, int32_t>> deaths;  // (end, group)
    for (int32_t g : order) {
      while (!deaths.empty() && deaths.begin()->first <= instance_.begin(g)) {
        Release(deaths.begin()->second);
        deaths.erase(deaths.begin());
      }
      Take(g);
      deaths.insert({instance_.end(g), g});
    }
  }

  // For each group, the groups that must lie above it: its neighbours at its birth, or at theirs.
  // Together they order all groups that are live together.
  const std::vector<std::vector<int32_t>>& above() const { return above_; }

 private:
  using Row = std::list<Block>;
  // The smallest block first; of equal sizes the one freed last, because it is warm in the cache.
  // (MegEngine's choice depends on the addresses of its list of blocks.)
  using Key = std::tuple<int64_t, int32_t, int64_t>;

  Key KeyOf(Row::iterator block) const { return {block->size, -block->freed, -block->serial}; }

  void Take(int32_t group) {
    const int64_t alignment = instance_.alignment(group);
    const int64_t size = (instance_.height(group) + alignment - 1) & -alignment;
    Row::iterator block = row_.end();
    auto fit = free_.lower_bound({size, INT32_MIN, INT64_MIN});
    if (fit == free_.end() && !free_.empty()) {
      fit = free_.lower_bound({std::get<0>(free_.rbegin()->first), INT32_MIN, INT64_MIN});
    }
    if (fit == free_.end()) {
      block = row_.insert(row_.end(), {size, group, 0, ++serial_});
    } else {
      block = fit->second;
      free_.erase(fit);
      if (block->size > size) {
        auto rest =
            row_.insert(std::next(block), {block->size - size, kFree, block->freed, ++serial_});
        free_[KeyOf(rest)] = rest;
      }
      block->size = size;
      block->holder = group;
    }
    block_[group] = block;
    if (block != row_.begin()) above_[std::prev(block)->holder].push_back(group);
    auto next = std::next(block);
    if (next != row_.end() && next->holder == kFree) ++next;
    if (next != row_.end()) above_[group].push_back(next->holder);
  }

  void Release(int32_t group) {
    Row::iterator block = block_[group];
    block->holder = kFree;
    block->freed = instance_.end(group);
    for (const bool after : {true, false}) {
      if (!after && block == row_.begin()) continue;
      Row::iterator other = after ? std::next(block) : std::prev(block);
      if (other == row_.end() || other->holder != kFree) continue;
      free_.erase(KeyOf(other));
      block->size += other->size;
      row_.erase(other);
    }
    free_[KeyOf(block)] = block;
  }

  const Instance& instance_;
  Row row_;
  int64_t serial_ = 0;
  std::vector<Row::iterator> block_;
  std::vector<std::vector<int32_t>> above_;
  std::map<Key, Row::iterator> free_;
};

}  // namespace

std::vector<int64_t> PlacePushdown(const Instance& instance) {
  std::vector<int32_t> order;
  for (int32_t g : FreeGroupsByBirth(instance)) {
    if (instance.height(g) > 0) order.push_back(g);
  }
  Simulation simulation(instance);
  simulation.Run(order);

  std::vector<int64_t> bases(instance.groups());
  const int64_t floor = AboveFixed(instance);
  for (int g = 0; g < instance.groups(); ++g) {
    bases[g] = instance.fixed(g) >= 0 ? instance.fixed(g) : instance.AlignUp(g, floor);
  }
  std::vector<int32_t> supports(instance.groups(), 0);
  for (int32_t g : order) {
    for (int32_t upper : simulation.above()[g]) ++supports[upper];
  }
  std::vector<int32_t> ready;
  for (int32_t g : order) {
    if (supports[g] == 0) ready.push_back(g);
  }
  while (!ready.empty()) {
    const int32_t g = ready.back();
    ready.pop_back();
    const int64_t end = bases[g] + instance.height(g);
    for (int32_t upper : simulation.above()[g]) {
      bases[upper] = std::max(bases[upper], instance.AlignUp(upper, end));
      if (--supports[upper] == 0) ready.push_back(upper);
    }
  }
  return bases;
}

}  // namespace ashlar::memory
