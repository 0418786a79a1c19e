#include "runtime/measure/process_memory.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "graph/host_memory.h"
#include "graph/status.h"
#include "runtime/measure/heap/heap_counter.h"
#include "runtime/plan/stages/memory_need.h"

namespace ashlar {
namespace {

// Measured with the zoo's models on x86-64 with AVX-512: code and data that opening a session and
// running touch, and the heap without a model: 6.2 to 7.1 MB. Other libraries, or another layout of
// the code, take some pages more. A kernel that maps files in larger pieces takes up to 0.3 MB
// more.
constexpr int64_t kProcess = 7320 << 10;
constexpr int64_t kThread = 128 << 10;  // the used part of its stack, and its share of the heap
// Addresses for graphs while planning, including memory that the allocator keeps.
constexpr int64_t kPlanningAddresses = 96 << 20;

// Returns the stack size of a thread with default attributes.
int64_t StackBytes() {
  pthread_attr_t attributes;
  size_t bytes = 0;
  pthread_attr_init(&attributes);
  pthread_attr_getstacksize(&attributes, &bytes);
  pthread_attr_destroy(&attributes);
  return static_cast<int64_t>(bytes);
}

// Returns the addresses of all mapped files, such as libraries and models.
int64_t MappedFileAddresses() {
  std::FILE* const file = std::fopen("/proc/self/maps", "re");
  if (file == nullptr) return 0;
  char line[512];
  int64_t bytes = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    uint64_t begin = 0, end = 0, inode = 0;
    if (std::sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %" SCNu64, &begin, &end, &inode) !=
        3) {
      continue;
    }
    if (inode != 0) bytes += static_cast<int64_t>(end - begin);
  }
  std::fclose(file);
  return bytes;
}

}  // namespace

ResidentSet ReadResidentSet() {
  ResidentSet result;
  std::FILE* file = std::fopen("/proc/self/status", "r");
  if (file == nullptr) return result;
  char line[256];
  int64_t kib = 0;
  while (std::fgets(line, sizeof(line), file) != nullptr) {
    if (std::sscanf(line, "VmRSS: %" SCNd64, &kib) == 1) result.current = kib * 1024;
    if (std::sscanf(line, "VmHWM: %" SCNd64, &kib) == 1) result.peak = kib * 1024;
  }
  std::fclose(file);
  return result;
}

void ReturnFreedMemory() { malloc_trim(0); }

void UseOneHeap() { mallopt(M_ARENA_MAX, 1); }

void KeepFreedMemory() {
  UseOneHeap();
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
}

absl::Status LimitFurtherAddresses(int64_t bytes) {
  constexpr size_t kHeapReserve = 4 << 20;
  void* volatile reserve = std::malloc(kHeapReserve);
  std::free(reserve);
  struct rlimit limit = {};
  const int64_t taken = AddressesTaken();
  if (taken == 0 || getrlimit(RLIMIT_AS, &limit) != 0) {
    return absl::UnavailableError("the addresses of the process are not known");
  }
  limit.rlim_cur = static_cast<rlim_t>(taken + bytes);
  if (setrlimit(RLIMIT_AS, &limit) == 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("RLIMIT_AS cannot be ", taken + bytes, " bytes: ", std::strerror(errno)));
}

int64_t ProcessBytes(int threads) { return kProcess + threads * kThread; }

int64_t AddressesNeeded(const PlannedGraph& planned, bool in_file) {
  const MemoryNeed need = NeedOf(planned, kPlanningAddresses, in_file);
  // The thread pool, as many threads of libraries with their own pool, and the thread that reads.
  const int threads = planned.request.target.threads;
  const int64_t stacks = (2 * (threads - 1) + planned.weights.window.has_value()) * StackBytes();
  // Weights in a file are among the mapped files. `verify` has a second copy of the inputs.
  const int64_t bytes = MappedFileAddresses() + need.total() - need.file + need.input + stacks;
  return (bytes + (1 << 20) - 1) >> 20 << 20;
}

absl::Status CheckAddresses(int64_t needed) {
  struct rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      static_cast<uint64_t>(needed) <= limit.rlim_cur) {
    return absl::OkStatus();
  }
  return HostMemoryError(
      absl::StrCat("the plan needs ", needed, " bytes of addresses to be loaded and run"));
}

absl::Status CheckPlanningPeak(int64_t total_budget) {
  const int64_t peak = ReadResidentSet().peak;
  if (peak <= total_budget || !HeapCountingAvailable()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("--total-budget is ", total_budget, " bytes, and planning took ", peak,
                   "; a plan file, which `plan -o FILE.plan` writes, is run without a search"));
}

}  // namespace ashlar
