// States of the dynamic programming and the beam search (exact.cc, beam.cc) are hashed bit sets of
// tasks; each set is saved once. A run of tasks within the budget that ends with at most its
// initial live bytes is taken at once; order_walk.h explains this dominance rule.
#include "runtime/schedule/order_walk.h"

#include <algorithm>

#include "absl/hash/hash.h"

namespace ashlar {
namespace {

// Longest run of tasks that is tried before the live bytes fall.
constexpr size_t kLongestRange = 64;

}  // namespace

size_t OrderWalk::KeyHash::operator()(int state) const {
  size_t hash = 0;
  for (size_t i = 0; i < walk->words_; ++i) hash = absl::HashOf(hash, walk->KeyWord(state, i));
  return hash;
}

bool OrderWalk::KeyEqual::operator()(int a, int b) const {
  for (size_t i = 0; i < walk->words_; ++i) {
    if (walk->KeyWord(a, i) != walk->KeyWord(b, i)) return false;
  }
  return true;
}

OrderWalk::OrderWalk(ArenaSimulator& arena, const TaskGraph& graph, int segment)
    : arena_(arena),
      graph_(graph),
      segment_(segment),
      tasks_(graph.segments[segment]),
      live_before_(arena.live()),
      words_((tasks_.size() + 63) / 64),
      known_(16, KeyHash{this}, KeyEqual{this}) {
  for (auto it = tasks_.rbegin(); it != tasks_.rend(); ++it) {
    if (CanRun(*it)) ready_.push_back(*it);
  }
}

OrderWalk::~OrderWalk() {
  arena_.Undo(tasks_, live_before_);
  const auto slots = static_cast<int64_t>(known_.capacity() * (sizeof(int) + 1));
  arena_.NoteSearch(states_.bytes() + keys_.bytes() + saved_.bytes() + slots + more_bytes_);
}

bool OrderWalk::CanRun(int task) const {
  return graph_.segment_of[task] == segment_ && !arena_.HasRun(task) &&
         std::all_of(graph_.preds[task].begin(), graph_.preds[task].end(),
                     [&](int pred) { return arena_.HasRun(pred); });
}

int64_t OrderWalk::StepBytes(int task) {
  const int64_t live = arena_.live();
  const int64_t bytes = arena_.Run(task);
  arena_.Undo({task}, live);
  ++effort_;
  return bytes;
}

void OrderWalk::Advance(int task, int64_t budget) {
  const size_t first = moves_.size();
  peak_ = std::max(peak_, arena_.Run(task));
  ++effort_;
  Commit({task});
  TakeFree(first, std::max(budget, peak_));
}

void OrderWalk::Settle(int64_t budget) {
  const size_t first = moves_.size();
  const std::vector<int> ready(ready_.rbegin(), ready_.rend());
  for (int task : ready) {
    if (!arena_.HasRun(task)) TryRun(task, budget);
  }
  TakeFree(first, budget);
}

void OrderWalk::TakeFree(size_t first, int64_t budget) {
  for (size_t i = first; i < moves_.size(); ++i) {
    for (int neighbor : graph_.neighbors[moves_[i]]) {
      if (CanRun(neighbor)) TryRun(neighbor, budget);
    }
  }
}

bool OrderWalk::TryRun(int task, int64_t budget) {
  const int64_t live = arena_.live();
  int64_t peak = peak_;
  std::vector<int> range;
  std::vector<int> open = {task};  // became ready during the run
  const auto add = [&](int next, int64_t step) {
    range.push_back(next);
    peak = std::max(peak, step);
    for (int succ : graph_.succs[next]) {
      if (CanRun(succ)) open.push_back(succ);
    }
  };
  while (open.size() == 1 && range.size() < kLongestRange && peak <= budget) {
    const int next = open.back();
    open.pop_back();
    add(next, arena_.Run(next));
    ++effort_;
    // A task that frees as much as it needs never waits.
    for (size_t i = 0; i < open.size();) {
      const int follower = open[i];
      const int64_t before = arena_.live();
      const int64_t bytes = arena_.Run(follower);
      ++effort_;
      if (bytes > budget || arena_.live() > before) {
        arena_.Undo({follower}, before);
        ++i;
        continue;
      }
      open.erase(open.begin() + i);
      add(follower, bytes);
      i = 0;
    }
    if (peak <= budget && arena_.live() <= live) {
      peak_ = peak;
      Commit(range);
      return true;
    }
  }
  arena_.Undo(range, live);
  return false;
}

void OrderWalk::Commit(absl::Span<const int> range) {
  for (int task : range) {
    const auto at = std::find(ready_.begin(), ready_.end(), task);
    if (at != ready_.end()) ready_.erase(at);
    moves_.push_back(task);
  }
  num_run_ += static_cast<int>(range.size());
  for (int task : range) {
    const std::vector<int>& succs = graph_.succs[task];
    for (auto it = succs.rbegin(); it != succs.rend(); ++it) {
      if (CanRun(*it) && std::find(ready_.begin(), ready_.end(), *it) == ready_.end()) {
        ready_.push_back(*it);
      }
    }
  }
}

int OrderWalk::Save() {
  const int state = static_cast<int>(states_.size());
  for (size_t word = 0; word < words_; ++word) {
    uint64_t key = 0;
    for (size_t i = 64 * word; i < std::min(tasks_.size(), 64 * (word + 1)); ++i) {
      key |= uint64_t{arena_.HasRun(tasks_[i])} << (i % 64);
    }
    keys_.push_back(key);
  }
  effort_ += words_;
  if (!known_.insert(state).second) {
    keys_.pop_back(words_);
    return -1;
  }
  const auto end = [&] { return static_cast<uint32_t>(saved_.size()); };
  State s;
  s.parent = at_;
  s.moves_begin = end();
  for (const int task : moves_) saved_.push_back(task);
  s.moves_end = end();
  for (const int task : ready_) saved_.push_back(task);
  s.ready_end = end();
  s.num_run = num_run_;
  s.live = arena_.live();
  s.peak = peak_;
  states_.push_back(s);
  effort_ += moves_.size() + ready_.size();
  at_ = state;
  moves_.clear();
  return state;
}

void OrderWalk::Load(int state) {
  const State& s = states_[state];
  if (state == at_) {
    arena_.Undo(moves_, s.live);
  } else {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      arena_.SetProgress(tasks_[i], KeyWord(state, i / 64) >> (i % 64) & 1
                                        ? ArenaSimulator::Progress::kRun
                                        : ArenaSimulator::Progress::kPending);
    }
    arena_.SetLive(s.live);
    effort_ += tasks_.size() / 16;
  }
  at_ = state;
  moves_.clear();
  ready_.clear();
  for (size_t i = s.moves_end; i < s.ready_end; ++i) ready_.push_back(saved_[i]);
  num_run_ = s.num_run;
  peak_ = s.peak;
}

std::vector<int> OrderWalk::Path() const {
  std::vector<int> path(moves_.rbegin(), moves_.rend());
  for (int state = at_; state >= 0; state = states_[state].parent) {
    const State& s = states_[state];
    for (size_t i = s.moves_end; i > s.moves_begin; --i) path.push_back(saved_[i - 1]);
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace ashlar
