// A cache of the most recently used values, by key.
#ifndef ASHLAR_RUNTIME_CUDA_TOOLKIT_RECENTLY_USED_H_
#define ASHLAR_RUNTIME_CUDA_TOOLKIT_RECENTLY_USED_H_

#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <utility>

namespace ashlar::cuda {

// A cache of at most `most` values; a new value replaces the least recently used.
template <typename Value>
class RecentlyUsed {
 public:
  // `most` is at least 1.
  explicit RecentlyUsed(size_t most) : most_(most) {}

  // Returns null if there is no value. The pointer is valid until the next Put.
  const Value* Find(const std::string& key) {
    const auto it = places_.find(key);
    if (it == places_.end()) return nullptr;
    values_.splice(values_.begin(), values_, it->second);
    return &it->second->second;
  }

  // Replaces any earlier value of the key.
  void Put(const std::string& key, Value value) {
    if (const auto it = places_.find(key); it != places_.end()) {
      values_.erase(it->second);
      places_.erase(it);
    } else if (values_.size() == most_) {
      places_.erase(values_.back().first);
      values_.pop_back();
    }
    values_.emplace_front(key, std::move(value));
    places_[key] = values_.begin();
  }

 private:
  using Values = std::list<std::pair<std::string, Value>>;

  const size_t most_;
  Values values_;  // most recently used first
  std::map<std::string, typename Values::iterator> places_;
};

}  // namespace ashlar::cuda

#endif  // ASHLAR_RUNTIME_CUDA_TOOLKIT_RECENTLY_USED_H_
