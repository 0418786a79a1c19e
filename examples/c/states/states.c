/* Runs two streams by one plan: each session keeps its states, such as a recurrent network's, from
 * run to run. The state of a stream is saved, and the stream goes on from it later.
 *
 *   cc states.c $(pkg-config --cflags --libs ashlar) -o states && ./states cell.onnx h_out=h_in */
#include <ashlar/ashlar.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kStreams = 2, kSteps = 4 };

static void check(ashlar_status status) {
  if (status == ASHLAR_OK) return;
  fprintf(stderr, "error: %s\n", ashlar_error_message());
  exit(1);
}

/* Copies the states of a session to `saved`, one after the other, or back. */
static void copy_states(ashlar_session* session, const ashlar_plan* plan, char* saved, int save) {
  const ashlar_tensor* states;
  size_t count, i;
  check(ashlar_plan_states(plan, &states, &count));
  for (i = 0; i < count; ++i) {
    const size_t bytes = (size_t)states[i].bytes;
    check(save ? ashlar_session_read_state(session, states[i].name, saved, bytes)
               : ashlar_session_write_state(session, states[i].name, saved, bytes));
    saved += bytes;
  }
}

int main(int argc, char** argv) {
  ashlar_model *opened = NULL, *model = NULL;
  ashlar_plan* plan = NULL;
  ashlar_memory memory = ASHLAR_INIT(ashlar_memory);
  ashlar_session* streams[kStreams] = {NULL};
  const ashlar_tensor *inputs, *outputs;
  size_t num_inputs, num_outputs, i;
  char *y[kStreams], *saved, *expected;
  int stream, step;
  if (argc != 3) return fprintf(stderr, "usage: states MODEL 'OUTPUT=INPUT ...'\n"), 2;

  check(ashlar_model_open(argv[1], &opened));
  check(ashlar_model_with_states(opened, argv[2], NULL, 0, &model));
  ashlar_model_release(opened);
  check(ashlar_model_plan(model, NULL, &plan));
  check(ashlar_plan_memory(plan, &memory));
  check(ashlar_plan_inputs(plan, &inputs, &num_inputs));
  check(ashlar_plan_outputs(plan, &outputs, &num_outputs));
  printf("arena %lld bytes, and %lld bytes of states, for each stream\n", (long long)memory.arena,
         (long long)memory.state);

  for (stream = 0; stream < kStreams; ++stream) {
    check(ashlar_plan_session(plan, NULL, &streams[stream]));
    for (i = 0; i < num_inputs; ++i) { /* the streams differ in their bytes */
      const size_t bytes = (size_t)inputs[i].bytes;
      char* const x = calloc(1, bytes);
      memset(x, stream == 0 ? 0 : 0x3f, bytes);
      check(ashlar_bind_input(streams[stream], inputs[i].name, x, bytes, ASHLAR_HOST));
    }
    for (i = 0; i < num_outputs; ++i) {
      const size_t bytes = (size_t)outputs[i].bytes;
      char* const to = calloc(1, bytes);
      check(ashlar_bind_output(streams[stream], outputs[i].name, to, bytes, ASHLAR_HOST));
      if (i == 0) y[stream] = to;
    }
  }
  saved = malloc((size_t)memory.state);
  expected = malloc((size_t)outputs[0].bytes);
  for (step = 0; step < kSteps; ++step) {
    if (step == kSteps / 2) copy_states(streams[1], plan, saved, 1);
    for (stream = 0; stream < kStreams; ++stream) check(ashlar_run(streams[stream]));
  }
  memcpy(expected, y[1], (size_t)outputs[0].bytes);

  check(ashlar_session_reset(streams[1])); /* another stream could use the session meanwhile */
  check(ashlar_run(streams[1]));
  copy_states(streams[1], plan, saved, 0);
  for (step = kSteps / 2; step < kSteps; ++step) check(ashlar_run(streams[1]));
  if (memcmp(expected, y[1], (size_t)outputs[0].bytes) != 0) {
    return fprintf(stderr, "error: the stream went on otherwise\n"), 1;
  }
  printf("a stream went on from its saved state to the same bits\n");
  for (stream = 0; stream < kStreams; ++stream) ashlar_session_release(streams[stream]);
  ashlar_plan_release(plan);
  ashlar_model_release(model);
  return 0;
}
