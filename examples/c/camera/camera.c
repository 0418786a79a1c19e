/* A camera loop in memory that is fixed at link time: the arena is a static array, and no frame
 * calls the heap (counted by this program's own malloc and related functions).
 *
 *   cc camera.c $(pkg-config --cflags --libs ashlar) -o camera && ./camera mobilenet.ash 1000 */
#define _GNU_SOURCE
#include <ashlar/ashlar.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ARENA_BYTES (512 * 1024)
static _Alignas(64) unsigned char arena[ARENA_BYTES];

/* The C library's own allocators, under the names that it exports for wrappers. */
extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* block, size_t size);
extern void* __libc_memalign(size_t alignment, size_t size);
static long heap_calls;
static void* counted(void* block) {
  __atomic_add_fetch(&heap_calls, 1, __ATOMIC_RELAXED);
  return block;
}
void* malloc(size_t size) { return counted(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) { return counted(__libc_calloc(count, size)); }
void* realloc(void* block, size_t size) { return counted(__libc_realloc(block, size)); }
void* memalign(size_t alignment, size_t size) { return counted(__libc_memalign(alignment, size)); }
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** block, size_t alignment, size_t size) {
  *block = memalign(alignment, size);
  return *block == NULL ? 12 : 0; /* ENOMEM */
}

static void check(ashlar_status status) {
  if (status == ASHLAR_OK) return;
  fprintf(stderr, "error: %s\n", ashlar_error_message());
  if (status == ASHLAR_DOES_NOT_FIT) {
    fprintf(stderr, "%lld bytes would do\n", (long long)ashlar_error_bytes());
  }
  exit(1);
}

static double milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

int main(int argc, char** argv) {
  ashlar_model* model = NULL;
  ashlar_plan* plan = NULL;
  ashlar_session* session = NULL;
  ashlar_plan_options options = ASHLAR_INIT(ashlar_plan_options);
  ashlar_session_options place = ASHLAR_INIT(ashlar_session_options);
  ashlar_memory memory = ASHLAR_INIT(ashlar_memory);
  if (argc < 2) return fprintf(stderr, "usage: camera MODEL [FRAMES]\n"), 2;
  const int frames = argc > 2 ? atoi(argv[2]) : 1000;

  options.memory_budget = ARENA_BYTES;
  options.threads = 1;
  check(ashlar_model_open(argv[1], &model));
  check(ashlar_model_plan(model, &options, &plan));
  check(ashlar_plan_memory(plan, &memory));
  place.arena = arena;
  place.arena_bytes = sizeof(arena);
  check(ashlar_plan_session(plan, &place, &session));
  ashlar_model_release(model);

  float* frame = calloc(1, (size_t)memory.input);
  float* result = calloc(1, (size_t)memory.output);
  check(ashlar_bind_input(session, NULL, frame, (size_t)memory.input, ASHLAR_HOST));
  check(ashlar_bind_output(session, NULL, result, (size_t)memory.output, ASHLAR_HOST));
  check(ashlar_run(session)); /* the first one may start threads */

  const long before = __atomic_load_n(&heap_calls, __ATOMIC_RELAXED);
  double worst = 0, total = 0;
  for (int i = 0; i < frames; ++i) {
    const size_t pixels = (size_t)memory.input / sizeof(float);
    for (size_t p = (size_t)i % 97; p < pixels; p += 97) frame[p] = (float)(i % 255) / 255;
    const double begin = milliseconds();
    check(ashlar_run(session));
    const double taken = milliseconds() - begin;
    total += taken;
    if (taken > worst) worst = taken;
  }
  const long calls = __atomic_load_n(&heap_calls, __ATOMIC_RELAXED) - before;
  printf("arena %lld of %d bytes, %d frames, %.2f ms a frame, %.2f the worst, %ld heap calls\n",
         (long long)memory.arena, ARENA_BYTES, frames, total / (frames > 0 ? frames : 1), worst,
         calls);
  ashlar_session_release(session);
  ashlar_plan_release(plan);
  return calls == 0 ? 0 : 1;
}
