#include "runtime/cpu/copy.h"

#include <cstring>

namespace ashlar::cpu {
namespace {

template <typename T>
void CopyLoop(const RowLoop<2>& loop, int threads, T* target, const T* source) {
  const int64_t to = loop.strides[0].back(), from = loop.strides[1].back();
  const int64_t longest = loop.shape[loop.shape.rank() - 1];
  ParallelRows(loop, threads, longest, [&](const std::array<int64_t, 2>& at, int64_t n) {
    T* const output = target + at[0];
    const T* const input = source + at[1];
    if (to == 1 && from == 1) {
      std::memcpy(output, input, n * sizeof(T));
    } else {
      for (int64_t i = 0; i < n; ++i) output[i * to] = input[i * from];
    }
  });
}

}  // namespace

void CopyElements(const std::vector<RowLoop<2>>& loops, int threads, int64_t element_bytes,
                  void* target, const void* source) {
  const auto copy = [&]<typename T>(T* to) {
    for (const RowLoop<2>& loop : loops) {
      CopyLoop(loop, threads, to, static_cast<const T*>(source));
    }
  };
  switch (element_bytes) {
    case 1:
      return copy(static_cast<uint8_t*>(target));
    case 2:
      return copy(static_cast<uint16_t*>(target));
    case 4:
      return copy(static_cast<uint32_t*>(target));
    case 8:
      return copy(static_cast<uint64_t*>(target));
  }
}

void CopyBytes(void* target, const void* source, int64_t bytes, int threads) {
  if (target == source) return;
  constexpr int64_t kGrain = 1 << 16;
  ParallelFor(threads, bytes, kGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(target) + begin, static_cast<const char*>(source) + begin,
                end - begin);
  });
}

}  // namespace ashlar::cpu
