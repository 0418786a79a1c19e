#include "runtime/device/changed_bytes.h"

#include <algorithm>
#include <vector>

#include "graph/status.h"

namespace ashlar {

int64_t HighestChanged(const void* data, int64_t bytes, uint8_t pattern) {
  const uint8_t* const begin = static_cast<const uint8_t*>(data);
  int64_t end = bytes;
  while (end > 0 && begin[end - 1] == pattern) --end;
  return end;
}

absl::StatusOr<int64_t> HighestChangedOn(Device& device, const void* data, int64_t bytes,
                                         uint8_t pattern) {
  if (device.is_host()) return HighestChanged(data, bytes, pattern);
  constexpr int64_t kPiece = int64_t{16} << 20;
  std::vector<char> piece(static_cast<size_t>(std::min(bytes, kPiece)));
  for (int64_t end = bytes; end > 0;) {
    const int64_t begin = std::max<int64_t>(0, end - kPiece);
    ASHLAR_RETURN_IF_ERROR(
        device.CopyOut(piece.data(), static_cast<const char*>(data) + begin, end - begin));
    const int64_t highest = HighestChanged(piece.data(), end - begin, pattern);
    if (highest > 0) return begin + highest;
    end = begin;
  }
  return int64_t{0};
}

absl::Status PatternedEnd::Fill(uint8_t pattern) {
  return bytes_ > 0 ? device_.Fill(data_, pattern, bytes_) : absl::OkStatus();
}

absl::StatusOr<int64_t> PatternedEnd::Written(uint8_t pattern) {
  if (bytes_ == 0) return begin_;
  ASHLAR_ASSIGN_OR_RETURN(const int64_t highest, HighestChangedOn(device_, data_, bytes_, pattern));
  return begin_ + highest;
}

}  // namespace ashlar
