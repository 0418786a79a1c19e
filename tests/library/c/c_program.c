#include "tests/library/c/c_program.h"

#include <ashlar/ashlar.h>
#include <stdlib.h>

/* The layout that programs were compiled with: fields may only be appended. */
#define PLACED(type, field, offset) \
  typedef char type##_##field##_placed[offsetof(type, field) == (offset) ? 1 : -1]
PLACED(ashlar_tensor, dtype, 8);
PLACED(ashlar_tensor, shape, 16);
PLACED(ashlar_tensor, bytes, 80);
PLACED(ashlar_plan_options, threads, 8);
PLACED(ashlar_plan_options, memory_budget, 24);
PLACED(ashlar_plan_options, device, 40);
PLACED(ashlar_plan_options, num_shapes, 80);
PLACED(ashlar_plan_options, share, 88);
PLACED(ashlar_memory, arena, 8);
PLACED(ashlar_memory, lower_bound, 56);
PLACED(ashlar_memory, predicted_ms, 72);
PLACED(ashlar_memory, weights_shared, 80);
PLACED(ashlar_memory, state, 88);
PLACED(ashlar_training_options, optimizer, 16);
PLACED(ashlar_training_options, momentum, 24);
PLACED(ashlar_training_options, freeze, 48);
PLACED(ashlar_training_options, seed, 64);
PLACED(ashlar_buffer, offset, 40);
PLACED(ashlar_buffer, name, 64);
PLACED(ashlar_step, live_bytes, 24);
PLACED(ashlar_session_options, arena_bytes, 16);
PLACED(ashlar_measured, ok, 40);
PLACED(ashlar_solve_options, planner, 24);
PLACED(ashlar_solution, proof, 24);

int RunModelInC(const char* path, const float* input, size_t input_bytes, float* output,
                size_t output_bytes) {
  ashlar_model* model = NULL;
  ashlar_plan* plan = NULL;
  ashlar_session* session = NULL;
  char* block = NULL;
  ashlar_plan_options options = ASHLAR_INIT(ashlar_plan_options);
  ashlar_session_options in = ASHLAR_INIT(ashlar_session_options);
  ashlar_memory memory = ASHLAR_INIT(ashlar_memory);
  ashlar_status status = ashlar_model_open(path, &model);
  options.threads = 1;
  if (status == ASHLAR_OK) status = ashlar_model_plan(model, &options, &plan);
  if (status == ASHLAR_OK) status = ashlar_plan_memory(plan, &memory);
  if (status == ASHLAR_OK) {
    in.arena_bytes = (size_t)memory.arena;
    block = malloc(in.arena_bytes + (size_t)memory.arena_alignment);
    if (block == NULL) status = ASHLAR_DOES_NOT_FIT;
  }
  if (status == ASHLAR_OK) {
    in.arena =
        block + (size_t)memory.arena_alignment - (uintptr_t)block % (size_t)memory.arena_alignment;
    status = ashlar_plan_session(plan, &in, &session);
  }
  if (status == ASHLAR_OK) {
    status = ashlar_bind_input(session, NULL, input, input_bytes, ASHLAR_HOST);
  }
  if (status == ASHLAR_OK) {
    status = ashlar_bind_output(session, NULL, output, output_bytes, ASHLAR_HOST);
  }
  if (status == ASHLAR_OK) status = ashlar_run(session);
  ashlar_model_release(model);
  ashlar_plan_release(plan);
  ashlar_session_release(session);
  free(block);
  return status;
}

int TrainModelInC(const char* path, const float* images, size_t image_bytes, const int32_t* labels,
                  size_t label_bytes, int steps, float* losses) {
  ashlar_model* model = NULL;
  ashlar_training* training = NULL;
  ashlar_plan_options plan = ASHLAR_INIT(ashlar_plan_options);
  ashlar_training_options options = ASHLAR_INIT(ashlar_training_options);
  ashlar_status status = ashlar_model_open(path, &model);
  int i = 0;
  plan.threads = 1;
  options.plan = &plan;
  options.momentum = 0.9;
  if (status == ASHLAR_OK) status = ashlar_model_train(model, &options, &training);
  ashlar_model_release(model);
  for (i = 0; i < steps && status == ASHLAR_OK; ++i) {
    status =
        ashlar_training_step(training, images, image_bytes, labels, label_bytes, 0.05, &losses[i]);
  }
  ashlar_training_release(training);
  return status;
}
