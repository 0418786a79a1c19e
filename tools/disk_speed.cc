#include "tools/disk_speed.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/status.h"
#include "runtime/plan/record/weight_source.h"
#include "serialization/file_reader.h"

namespace ashlar {
namespace {

constexpr int64_t kLeast = 8 << 20, kMost = 128 << 20;  // bytes that are read in sequence
constexpr int64_t kPiece = 1 << 20;                     // at a time
constexpr int64_t kSmall = 4 << 10;                     // of a read that is all but empty
constexpr int kSmallReads = 64;

// Returns the milliseconds of reads of so many bytes at these distances, several in flight.
absl::StatusOr<double> TimeReads(const FileReader& file, int64_t bytes, int64_t distance,
                                 int64_t count) {
  std::atomic<int64_t> next = 0;
  std::vector<absl::Status> statuses(kReadsInFlight);
  std::vector<std::thread> threads;
  file.DropFromCache();
  const auto start = std::chrono::steady_clock::now();
  for (absl::Status& status : statuses) {
    threads.emplace_back([&] {
      std::vector<char> to(static_cast<size_t>(bytes));
      for (int64_t i = next++; status.ok() && i < count; i = next++) {
        status = file.Read(i * distance, bytes, to.data());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto end = std::chrono::steady_clock::now();
  for (const absl::Status& status : statuses) ASHLAR_RETURN_IF_ERROR(status);
  return std::chrono::duration<double, std::milli>(end - start).count();
}

}  // namespace

absl::StatusOr<DiskSpeed> MeasureDisk(const std::string& path) {
  ASHLAR_ASSIGN_OR_RETURN(const std::unique_ptr<const FileReader> file, FileReader::Open(path));
  ASHLAR_ASSIGN_OR_RETURN(const FileStamp stamp, file->Stamp());
  const int64_t size = stamp[2];
  if (size < kLeast) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " has ", size, " bytes; a measurement of its disk reads at least ", kLeast));
  }
  const int64_t pieces = std::min(size, kMost) / kPiece;
  ASHLAR_ASSIGN_OR_RETURN(
      const double small_ms,
      TimeReads(*file, kSmall, size / kSmallReads / kSmall * kSmall, kSmallReads));
  ASHLAR_ASSIGN_OR_RETURN(const double large_ms, TimeReads(*file, kPiece, kPiece, pieces));
  DiskSpeed speed;
  speed.read_ms = small_ms / kSmallReads;
  // The time of the large reads beyond as many small ones; at least half of it.
  const double bytes_ms =
      std::max(large_ms - speed.read_ms * static_cast<double>(pieces), large_ms / 2);
  speed.bytes_per_ms = static_cast<double>(pieces * kPiece) / bytes_ms;
  return speed;
}

}  // namespace ashlar
