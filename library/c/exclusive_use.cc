#include "library/c/exclusive_use.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "library/c/border.h"

namespace ashlar::c {
namespace {

// Grows by one in each forked child.
std::atomic<uint32_t> process_number = 1;

// The arenas that the caller gave to live objects.
struct Arenas {
  struct Entry {
    const char* begin;
    const char* end;
    std::shared_ptr<std::atomic<uint32_t>> mark;
  };
  std::mutex mutex;
  std::vector<Entry> entries;
};

// A child that is forked while another thread holds the mutex finds it unlocked.
Arenas& TheArenas() {
  static auto* const arenas = [] {
    static auto* const made = new Arenas();
    pthread_atfork([] { made->mutex.lock(); }, [] { made->mutex.unlock(); },
                   [] {
                     process_number.fetch_add(1);
                     made->mutex.unlock();
                   });
    return made;
  }();
  return *arenas;
}

}  // namespace

ExclusiveUse::ExclusiveUse(absl::string_view object, const void* arena, int64_t bytes)
    : object_(object), marks_{std::make_shared<Mark>(0)} {
  Arenas& arenas = TheArenas();
  if (arena == nullptr || bytes == 0) return;
  const auto* const begin = static_cast<const char*>(arena);
  const char* const end = begin + bytes;
  const std::lock_guard<std::mutex> lock(arenas.mutex);
  for (const Arenas::Entry& other : arenas.entries) {
    if (other.begin < end && begin < other.end) marks_.push_back(other.mark);
  }
  arenas.entries.push_back({begin, end, marks_[0]});
}

ExclusiveUse::~ExclusiveUse() {
  Arenas& arenas = TheArenas();
  const std::lock_guard<std::mutex> lock(arenas.mutex);
  const auto own = std::find_if(arenas.entries.begin(), arenas.entries.end(),
                                [&](const Arenas::Entry& e) { return e.mark == marks_[0]; });
  if (own != arenas.entries.end()) arenas.entries.erase(own);
}

absl::Status ExclusiveUse::Take() {
  const uint32_t mine = process_number.load(std::memory_order_relaxed);
  for (size_t taken = 0; taken < marks_.size(); ++taken) {
    uint32_t before = marks_[taken]->load(std::memory_order_relaxed);
    if (before != mine &&
        marks_[taken]->compare_exchange_strong(before, mine, std::memory_order_acquire)) {
      continue;
    }
    Leave(taken);
    const bool own = taken == 0;
    return WithStatus(absl::FailedPreconditionError(absl::StrCat(
                          own ? "the " : "the arena of the ", object_, " is in use by ",
                          own ? "another thread" : "another session", "; use one ", object_,
                          own ? " for each thread"
                              : " of the arena at a time, or give each an arena of its own")),
                      ASHLAR_BUSY);
  }
  return absl::OkStatus();
}

void ExclusiveUse::Leave(size_t marks) {
  for (size_t i = 0; i < marks; ++i) marks_[i]->store(0, std::memory_order_release);
}

}  // namespace ashlar::c
