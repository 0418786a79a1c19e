/* Counts the heap calls of a process that preloads this library, using the C library's allocator.
 * ashlar_plan_verify returns the count in ashlar_measured.heap_calls.
 *
 *  LD_PRELOAD=/usr/lib/ashlar/libashlar-heap-count.so ./program */
#define _GNU_SOURCE
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

/* The C library's functions, exported under these names for wrappers. */
extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* block, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);

static int64_t calls;

static void* counted(void* block) {
  __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
  return block;
}

int64_t ashlar_heap_calls(void) { return __atomic_load_n(&calls, __ATOMIC_RELAXED); }

void* malloc(size_t size) { return counted(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size)); }
void* realloc(void* block, size_t size) { return counted(__libc_realloc(block, size)); }
void* memalign(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }
void* aligned_alloc(size_t alignment, size_t size) {
  return counted(__libc_memalign(alignment, size));
}
int posix_memalign(void** block, size_t alignment, size_t size) {
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* const made = counted(__libc_memalign(alignment, size));
  if (made == NULL) return ENOMEM;
  *block = made;
  return 0;
}
