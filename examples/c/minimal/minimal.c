/* Opens a model, plans it, runs it once on zeros.
 *
 *   cc minimal.c $(pkg-config --cflags --libs ashlar) -o minimal && ./minimal model.ash */
#include <ashlar/ashlar.h>
#include <stdio.h>
#include <stdlib.h>

static void check(ashlar_status status) {
  if (status == ASHLAR_OK) return;
  fprintf(stderr, "error: %s\n", ashlar_error_message());
  exit(1);
}

int main(int argc, char** argv) {
  ashlar_model* model = NULL;
  ashlar_plan* plan = NULL;
  ashlar_session* session = NULL;
  ashlar_memory memory = ASHLAR_INIT(ashlar_memory);
  const ashlar_tensor *inputs, *outputs;
  size_t num_inputs, num_outputs, i;
  if (argc != 2) return fprintf(stderr, "usage: minimal MODEL\n"), 2;

  check(ashlar_model_open(argv[1], &model));
  check(ashlar_model_plan(model, NULL, &plan));
  check(ashlar_plan_memory(plan, &memory));
  printf("arena %lld bytes, weights %lld bytes\n", (long long)memory.arena,
         (long long)memory.weights);

  check(ashlar_plan_session(plan, NULL, &session));
  check(ashlar_plan_inputs(plan, &inputs, &num_inputs));
  check(ashlar_plan_outputs(plan, &outputs, &num_outputs));
  for (i = 0; i < num_inputs; ++i) {
    void* tensor = calloc(1, (size_t)inputs[i].bytes);
    check(ashlar_bind_input(session, inputs[i].name, tensor, (size_t)inputs[i].bytes, ASHLAR_HOST));
  }
  for (i = 0; i < num_outputs; ++i) {
    void* tensor = calloc(1, (size_t)outputs[i].bytes);
    check(ashlar_bind_output(session, outputs[i].name, tensor, (size_t)outputs[i].bytes,
                             ASHLAR_HOST));
    printf("output %s: %lld bytes\n", outputs[i].name, (long long)outputs[i].bytes);
  }
  check(ashlar_run(session));
  ashlar_session_release(session);
  ashlar_plan_release(plan);
  ashlar_model_release(model);
  return 0;
}
