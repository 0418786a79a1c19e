// A list that never moves its elements: each chunk has twice the elements of the one before, so
// growing takes no second copy of the list. The pages of large chunks return to the system when the
// list is destroyed. For the states of searches.
#ifndef ASHLAR_RUNTIME_SCHEDULE_CHUNKED_H_
#define ASHLAR_RUNTIME_SCHEDULE_CHUNKED_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

namespace ashlar {

template <typename T>
class Chunked {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // Bytes of the most elements that were in the list. The rest of the last chunk is not touched.
  int64_t bytes() const { return static_cast<int64_t>(most_ * sizeof(T)); }

  T& operator[](size_t i) { return *At(i); }
  const T& operator[](size_t i) const { return *At(i); }
  const T& back() const { return *At(size_ - 1); }

  void push_back(const T& value) {
    if (ChunkOf(size_) == chunks_.size()) {
      chunks_.push_back(std::make_unique_for_overwrite<T[]>(kFirst << chunks_.size()));
    }
    *At(size_++) = value;
    most_ = std::max(most_, size_);
  }
  void pop_back(size_t count = 1) { size_ -= count; }

 private:
  static constexpr size_t kFirst = 256;  // elements of the first chunk

  static size_t ChunkOf(size_t i) {
    return static_cast<size_t>(std::bit_width(i / kFirst + 1)) - 1;
  }
  T* At(size_t i) const {
    const size_t chunk = ChunkOf(i);
    return &chunks_[chunk][i - kFirst * ((size_t{1} << chunk) - 1)];
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  size_t size_ = 0, most_ = 0;
};

}  // namespace ashlar

#endif  // ASHLAR_RUNTIME_SCHEDULE_CHUNKED_H_
