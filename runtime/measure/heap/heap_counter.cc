#include "runtime/measure/heap/heap_counter.h"

#include <malloc.h>

#include <atomic>
#include <cerrno>
#include <cstddef>

#include "runtime/device/allocation_origin.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ASHLAR_COUNT_HEAP 0
#else
#define ASHLAR_COUNT_HEAP 1
#endif

namespace ashlar {
namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> own_calls{0}, own_bytes{0}, library_calls{0}, library_net_bytes{0};

#if ASHLAR_COUNT_HEAP
// A thread that never entered a run is a library's worker.
bool IsOwn() { return CurrentOrigin() == AllocationOrigin::kOwn; }

void* Allocated(void* block) {
  if (block == nullptr || !counting.load(std::memory_order_relaxed)) return block;
  const int64_t bytes = static_cast<int64_t>(malloc_usable_size(block));
  if (IsOwn()) {
    own_calls.fetch_add(1, std::memory_order_relaxed);
    own_bytes.fetch_add(bytes, std::memory_order_relaxed);
  } else {
    library_calls.fetch_add(1, std::memory_order_relaxed);
    library_net_bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  return block;
}

void Freeing(void* block) {
  if (block == nullptr || !counting.load(std::memory_order_relaxed) || IsOwn()) return;
  library_net_bytes.fetch_sub(static_cast<int64_t>(malloc_usable_size(block)),
                              std::memory_order_relaxed);
}
#endif

}  // namespace

bool HeapCountingAvailable() { return ASHLAR_COUNT_HEAP != 0; }

void StartHeapCounting() {
  own_calls = own_bytes = library_calls = library_net_bytes = 0;
  counting = true;
}

HeapCounts StopHeapCounting() {
  counting = false;
  return {own_calls, own_bytes, library_calls, library_net_bytes};
}

}  // namespace ashlar

#if ASHLAR_COUNT_HEAP

extern "C" {

// The C library's allocator, exported under these names for wrappers.
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* block, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
void __libc_free(void* block);

void* malloc(size_t size) { return ashlar::Allocated(__libc_malloc(size)); }

void* calloc(size_t count, size_t size) { return ashlar::Allocated(__libc_calloc(count, size)); }

void* realloc(void* block, size_t size) {
  ashlar::Freeing(block);
  return ashlar::Allocated(__libc_realloc(block, size));
}

void* memalign(size_t alignment, size_t size) {
  return ashlar::Allocated(__libc_memalign(alignment, size));
}

void* aligned_alloc(size_t alignment, size_t size) {
  return ashlar::Allocated(__libc_memalign(alignment, size));
}

int posix_memalign(void** block, size_t alignment, size_t size) {
  *block = ashlar::Allocated(__libc_memalign(alignment, size));
  return *block == nullptr ? ENOMEM : 0;
}

void free(void* block) {
  ashlar::Freeing(block);
  __libc_free(block);
}

}  // extern "C"

#endif
