/* Trains a model to tell horizontal stripes from vertical ones, and writes the trained model.
 * Training resumed from a checkpoint has the same losses, to the last bit.
 *
 *   cc train.c $(pkg-config --cflags --libs ashlar) -lm -o train && ./train net.ash trained.ash */
#include <ashlar/ashlar.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8, STEPS = 30, KEPT_AT = 25, CLASSES = 2 };

static void check(ashlar_status status) {
  if (status == ASHLAR_OK) return;
  fprintf(stderr, "error: %s\n", ashlar_error_message());
  exit(1);
}

/* Draws a batch of images of shape {channels, height, width}; labels give the direction of the
 * stripes. */
static void draw(unsigned seed, const int64_t shape[3], float* images, int32_t* labels) {
  for (int i = 0; i < BATCH; ++i) {
    const unsigned random = (seed * BATCH + (unsigned)i + 1) * 2654435761u;
    const float period = 4 + (float)(random >> 28), phase = (float)(random >> 20 & 15);
    labels[i] = (int32_t)(random >> 16 & 1);
    for (int64_t at = 0; at < shape[0] * shape[1] * shape[2]; ++at) {
      const int64_t along = labels[i] ? at % shape[2] : at / shape[2] % shape[1];
      *images++ = sinf(6.2831853f * ((float)along + phase) / period);
    }
  }
}

static ashlar_training* make(const ashlar_model* model, const ashlar_plan_options* plan) {
  ashlar_training_options options = ASHLAR_INIT(ashlar_training_options);
  ashlar_training* training = NULL;
  options.plan = plan;
  options.momentum = 0.9;
  options.classes = CLASSES;
  check(ashlar_model_train(model, &options, &training));
  return training;
}

int main(int argc, char** argv) {
  ashlar_model* model = NULL;
  ashlar_plan* whole = NULL;
  ashlar_plan_options options = ASHLAR_INIT(ashlar_plan_options);
  ashlar_memory memory = ASHLAR_INIT(ashlar_memory);
  ashlar_shape batch = {0};
  const ashlar_tensor* inputs;
  size_t count;
  if (argc != 3) return fprintf(stderr, "usage: train MODEL TRAINED\n"), 2;

  /* Sets the batch size of the model's input. */
  check(ashlar_model_open(argv[1], &model));
  check(ashlar_model_plan(model, NULL, &whole));
  check(ashlar_plan_inputs(whole, &inputs, &count));
  batch.input = inputs[0].name;
  batch.rank = inputs[0].rank;
  memcpy(batch.shape, inputs[0].shape, sizeof(batch.shape));
  batch.shape[0] = BATCH;
  options.shapes = &batch;
  options.num_shapes = 1;

  ashlar_training* training = make(model, &options);
  check(ashlar_training_memory(training, &memory));
  printf("a step: arena %lld bytes, states %lld bytes\n", (long long)memory.arena,
         (long long)memory.state);

  check(ashlar_training_inputs(training, &inputs, &count));
  float* images = malloc((size_t)inputs[0].bytes);
  int32_t labels[BATCH];
  float loss = 0, first = 0;
  for (int step = 0; step < STEPS; ++step) {
    if (step == KEPT_AT) check(ashlar_training_checkpoint(training, argv[2]));
    draw((unsigned)step, batch.shape + 1, images, labels);
    check(ashlar_training_step(training, images, (size_t)inputs[0].bytes, labels, sizeof(labels),
                               0.01, &loss));
    if (step == 0) first = loss;
  }
  printf("loss %.4f at first, %.4f after %d steps\n", first, loss, STEPS);

  ashlar_training* again = make(model, &options);
  float same = 0;
  check(ashlar_training_resume(again, argv[2]));
  for (int step = KEPT_AT; step < STEPS; ++step) {
    draw((unsigned)step, batch.shape + 1, images, labels);
    check(ashlar_training_step(again, images, (size_t)inputs[0].bytes, labels, sizeof(labels), 0.01,
                               &same));
  }
  printf("from the checkpoint: %s\n", same == loss ? "the same" : "another loss");
  ashlar_training_release(again);

  float logits[BATCH * CLASSES];
  int right = 0;
  draw(STEPS, batch.shape + 1, images, labels);
  check(
      ashlar_training_evaluate(training, images, (size_t)inputs[0].bytes, logits, sizeof(logits)));
  for (int i = 0; i < BATCH; ++i) right += (logits[2 * i + 1] > logits[2 * i]) == labels[i];
  printf("%d of %d images that it has not seen are told right\n", right, BATCH);
  check(ashlar_training_save(training, argv[2]));
  ashlar_training_release(training);
  ashlar_plan_release(whole);
  ashlar_model_release(model);
  free(images);
  return loss < first / 2 && same == loss && right > BATCH / 2 ? 0 : 1;
}
