/* Runs a model whose weights are streamed, and says what memory that took. The file is packed for
 * the window: `ashlar convert MODEL -o packed.ash --pack --weights-budget 3MiB`.
 *
 *   cc streamed.c $(pkg-config --cflags --libs ashlar) -o streamed
 *   ./streamed packed.ash "weights-budget=3MiB" [RUNS [OUTPUT]] */
#include <ashlar/ashlar.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void check(ashlar_status status) {
  if (status == ASHLAR_OK) return;
  fprintf(stderr, "error: %s\n", ashlar_error_message());
  exit(1);
}

/* Returns the kilobytes of a line of /proc/self/status; 0: there is none. */
static long status_kb(const char* name) {
  char line[128];
  long kb = 0;
  FILE* file = fopen("/proc/self/status", "r");
  while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
    if (strncmp(line, name, strlen(name)) == 0) kb = strtol(line + strlen(name), NULL, 10);
  }
  if (file != NULL) fclose(file);
  return kb;
}

/* Returns the bytes that are no pages of files, resident or in swap, exactly; 0: the system does
 * not tell. */
static long anonymous_bytes(void) {
  char line[128];
  long kb = 0;
  FILE* file = fopen("/proc/self/smaps_rollup", "r");
  while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
    if (strncmp(line, "Anonymous:", 10) == 0) kb += strtol(line + 10, NULL, 10);
    if (strncmp(line, "Swap:", 5) == 0) kb += strtol(line + 5, NULL, 10);
  }
  if (file != NULL) fclose(file);
  return kb * 1024;
}

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

int main(int argc, char** argv) {
  ashlar_model* model = NULL;
  ashlar_plan* plan = NULL;
  ashlar_session* session = NULL;
  ashlar_plan_options options = ASHLAR_INIT(ashlar_plan_options);
  ashlar_memory memory = ASHLAR_INIT(ashlar_memory);
  const ashlar_tensor *inputs, *outputs;
  size_t num_inputs, num_outputs, i, k;
  void* result = NULL;
  long before, grown;
  int run, runs = argc > 3 ? atoi(argv[3]) : 1;
  if (argc < 3) return fprintf(stderr, "usage: streamed MODEL OPTIONS [RUNS [OUTPUT]]\n"), 2;

  options.threads = 1;
  options.more = argv[2];
  check(ashlar_model_open(argv[1], &model));
  check(ashlar_model_plan(model, &options, &plan));
  check(ashlar_plan_memory(plan, &memory));
  ashlar_model_release(model);
  malloc_trim(0); /* what loading and planning have left */
  if (ashlar_lock_code(1) != ASHLAR_OK) fprintf(stderr, "note: %s\n", ashlar_error_message());
  before = anonymous_bytes();
  check(ashlar_plan_session(plan, NULL, &session));
  check(ashlar_plan_inputs(plan, &inputs, &num_inputs));
  check(ashlar_plan_outputs(plan, &outputs, &num_outputs));
  for (i = 0; i < num_inputs; ++i) {
    float* tensor = calloc(1, (size_t)inputs[i].bytes);
    for (k = 0; k < (size_t)inputs[i].bytes / sizeof(float); ++k) {
      tensor[k] = (float)((k * 2654435761u >> 8) % 1000) / 500 - 1;
    }
    check(ashlar_bind_input(session, inputs[i].name, tensor, (size_t)inputs[i].bytes, ASHLAR_HOST));
  }
  for (i = 0; i < num_outputs; ++i) {
    result = calloc(1, (size_t)outputs[i].bytes);
    check(ashlar_bind_output(session, outputs[i].name, result, (size_t)outputs[i].bytes,
                             ASHLAR_HOST));
  }
  printf("planned: arena %lld, weights %lld, tensors %lld bytes\n", (long long)memory.arena,
         (long long)memory.weights, (long long)(memory.input + memory.output));
  for (run = 0; run < runs; ++run) {
    const double start = now_ms();
    check(ashlar_run(session));
    printf("run %d: %.2f ms\n", run, now_ms() - start);
  }
  grown = anonymous_bytes() - before;
  printf("resident: %ld bytes for %lld planned\n", grown,
         (long long)(memory.arena + memory.weights + memory.input + memory.output));
  printf("process: peak %ld kB, now %ld kB, of which %ld kB are no files\n", status_kb("VmHWM:"),
         status_kb("VmRSS:"), status_kb("RssAnon:"));
  if (argc > 4) {
    FILE* file = fopen(argv[4], "wb");
    if (file == NULL || fwrite(result, (size_t)outputs[num_outputs - 1].bytes, 1, file) != 1) {
      return fprintf(stderr, "error: %s: cannot write\n", argv[4]), 1;
    }
    fclose(file);
  }
  ashlar_session_release(session);
  ashlar_plan_release(plan);
  return 0;
}
