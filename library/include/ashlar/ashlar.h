/* Ashlar: plans a model's memory to the byte, then runs it there. C99 or later, and C++.
 *
 * A model is read from a file; a plan fixes kernels, order and addresses without taking memory for
 * them; a session runs a plan. Sessions of one plan share its weights.
 *
 * Errors: functions that can fail return 0 or an ashlar_status and leave their outputs alone. What
 * went wrong stands in ashlar_error_message() of the calling thread until its next failure. Nothing
 * throws, prints, exits, reads the environment, or changes signal handlers or the caller's
 * floating-point settings. Ownership: what *_open, *_plan, *_session and *_train make is the
 * caller's, to be released once, in any order: each keeps alive what it needs. Strings and arrays
 * handed out belong to the object that was asked. Threads: models and plans may be used by several
 * threads at once, a session or training by one at a time; they run side by side. A call while
 * another thread is inside the same session or training, or inside a session of an overlapping
 * arena, is refused with ASHLAR_BUSY, so numbers are never wrong because of it. Nothing waits. What
 * is bound stays bound: threads that share a session take a lock around binding and running. A
 * forked child may go on with what it inherited. Extension: structs begin with their size and are
 * set up by ASHLAR_INIT; fields are only ever appended, and zero is the default of every one.
 * Values of enumerations never change. */
#ifndef ASHLAR_ASHLAR_H_
#define ASHLAR_ASHLAR_H_

#include <stddef.h>
#include <stdint.h>

#define ASHLAR_VERSION 10000 /* major * 10000 + minor * 100 + patch */
#define ASHLAR_API __attribute__((visibility("default")))
/* All else zero. */
#ifdef __cplusplus
#define ASHLAR_INIT(type)      \
  [] {                         \
    type value = {};           \
    value.size = sizeof(type); \
    return value;              \
  }()
#else
#define ASHLAR_INIT(type) \
  { .size = sizeof(type) }
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ashlar_status {
  ASHLAR_OK = 0,
  ASHLAR_INVALID_ARGUMENT = 1,
  ASHLAR_DOES_NOT_FIT =
      2, /* into the budget, or into the memory there is; ashlar_error_bytes() would do */
  ASHLAR_REJECTED_FILE = 3, /* unreadable, damaged, or of another kind */
  ASHLAR_UNSUPPORTED = 4,   /* an operator, type or shape without a kernel */
  ASHLAR_UNAVAILABLE = 5,   /* the device, or its library, is not there */
  ASHLAR_NOT_BOUND = 6,     /* a run without all inputs and outputs */
  ASHLAR_INTERNAL = 7,
  ASHLAR_BUSY = 8,        /* another thread is using the session, training or arena */
  ASHLAR_CANCELLED = 9,   /* by the caller's progress function */
  ASHLAR_OUT_OF_TIME = 10 /* planning took longer than time_limit */
} ashlar_status;

ASHLAR_API int ashlar_version(void); /* of the library; ASHLAR_VERSION is the header's */
ASHLAR_API const char* ashlar_error_message(void);
ASHLAR_API int64_t
ashlar_error_bytes(void); /* of ASHLAR_DOES_NOT_FIT: the least that would do; 0 where not known */

/* Notes for the user ("packing anew, as ..."); from any thread, never during a run. */
typedef void (*ashlar_log_fn)(void* context, const char* line);
ASHLAR_API void ashlar_set_log(ashlar_log_fn log, void* context); /* NULL, the default: silence */

/* Models: Ashlar's own files and ONNX (.onnx). The file is mapped and must not shrink meanwhile. */
typedef struct ashlar_model ashlar_model;
ASHLAR_API ashlar_status ashlar_model_open(const char* path, ashlar_model** model);
/* A model in memory, which must outlive all that is made of it: in Ashlar's format, at a multiple
 * of 64, with its weights taken as they are (checksums are compared for files); or an ONNX file
 * whose weights are all in it. */
ASHLAR_API ashlar_status ashlar_model_open_bytes(const void* bytes, size_t size,
                                                 ashlar_model** model);
/* Models of a pipeline as one: inputs of `second` read the outputs of `first` that have their
 * names, or the only one reads the only one. Both may be released before it.
 * ASHLAR_INVALID_ARGUMENT where nothing fits. Models that never run at once may share an arena
 * instead: ashlar_session_options. */
ASHLAR_API ashlar_status ashlar_model_join(const ashlar_model* first, const ashlar_model* second,
                                           ashlar_model** joined);
ASHLAR_API void ashlar_model_release(ashlar_model* model); /* NULL is fine, here and below */

typedef enum ashlar_dtype { /* numbered as in the files */
                            ASHLAR_F32 = 0,
                            ASHLAR_F16 = 1,
                            ASHLAR_BF16 = 2,
                            ASHLAR_I64 = 3,
                            ASHLAR_I32 = 4,
                            ASHLAR_I8 = 5,
                            ASHLAR_U8 = 6,
                            ASHLAR_BOOL = 8,
                            ASHLAR_F64 = 9
} ashlar_dtype;

#define ASHLAR_MAX_RANK 8

typedef struct ashlar_tensor { /* row-major, dense */
  const char* name;
  int32_t dtype, rank;
  int64_t shape[ASHLAR_MAX_RANK];
  int64_t bytes;
} ashlar_tensor;

/* What the file declares, before a plan: a dimension that is open is -1, and `bytes` is then 0.
 * rank is -1 if nothing is said of the shape. */
ASHLAR_API ashlar_status ashlar_model_inputs(const ashlar_model* model, const ashlar_tensor** first,
                                             size_t* count);
ASHLAR_API ashlar_status ashlar_model_outputs(const ashlar_model* model,
                                              const ashlar_tensor** first, size_t* count);

typedef struct ashlar_shape {
  const char* input;
  int32_t rank;
  int64_t shape[ASHLAR_MAX_RANK];
} ashlar_shape;

typedef struct ashlar_progress { /* of planning, until now */
  size_t size;                   /* of this struct, as the library has it */
  double seconds;
  int64_t plans;       /* made so far: searches under a memory budget make many */
  int64_t least_arena; /* bytes, of these plans; 0: none is made yet */
} ashlar_progress;

/* Called in the thread that waits for a plan, about every 20 ms; nonzero ends planning. */
typedef int (*ashlar_progress_fn)(void* context, const ashlar_progress* progress);

#define ASHLAR_LEAST (-1) /* as a memory budget: as few bytes as can be */

typedef struct ashlar_plan_options {
  size_t size;
  int32_t threads;        /* 0: as many as this process may use */
  int32_t prefer_memory;  /* 1: kernels with the least workspace and weights */
  int32_t exact;          /* 1: no kernel that rounds otherwise than a plain sum (Winograd) */
  int64_t memory_budget;  /* of the arena, bytes; 0: none; or ASHLAR_LEAST */
  double max_extra_flops; /* under a budget, the ratio that may be computed again; 0: any, negative:
                             none */
  const char* device;     /* NULL: "cpu0:0" */
  const char* tile;       /* as the command's --tile; NULL: those of kernel_record, if any */
  const char* precision;  /* NULL: "fp32"; "fp16", "bf16" where the device has them */
  const char* kernel_record;  /* NULL: none; a file of measured kernels, as `ashlar tune` writes */
  const ashlar_shape* shapes; /* other shapes for inputs */
  size_t num_shapes;
  const struct ashlar_plan* share; /* a plan without weights in memory yet: what both want alike is
                                      then held once. It may be released */
  int32_t release_input; /* 1: the inputs are given up: they lie in the arena, where rows that were
                            read make room (ashlar_released_input). On the CPU */
  double time_limit; /* seconds that planning may take; 0: any. The plan never depends on it: when
                        it is exceeded there is none (ASHLAR_OUT_OF_TIME) */
  ashlar_progress_fn progress; /* NULL: none. If it returns nonzero there is no plan
                                  (ASHLAR_CANCELLED). With it, or a time limit, planning works in a
                                  thread of its own */
  void* progress_context;
} ashlar_plan_options;

/* Plans. What is below is known before memory is taken. */
typedef struct ashlar_plan ashlar_plan;

typedef enum ashlar_proof {
  ASHLAR_GAP = 0,              /* a smaller plan is not excluded */
  ASHLAR_OPTIMAL = 1,          /* the arena is the lower bound */
  ASHLAR_OPTIMAL_BY_SEARCH = 2 /* a search was exhausted */
} ashlar_proof;

typedef struct ashlar_memory { /* bytes */
  size_t size;
  int64_t arena, arena_alignment; /* of a session */
  int64_t input, output;          /* the caller's tensors; not inputs that are given up */
  int64_t weights;                /* of all sessions together */
  int64_t weights_in_file;        /* of these, used where they lie in the file (a packed one) */
  int64_t lower_bound;            /* of the arena, for these kernels in this order */
  int32_t proof, bottleneck_step;
  double predicted_ms;    /* of a run */
  int64_t weights_shared; /* of the weights: held by plans that this one shares with */
  int64_t state;          /* of a training: parameters, statistics, and the optimizer's moments */
  int64_t released_input; /* of the arena: taken, before a run, by inputs that are given up */
} ashlar_memory;

typedef struct ashlar_buffer { /* live in steps [lower, upper) */
  int64_t id, lower, upper;
  int64_t size, alignment; /* bytes; alignment 0 is as good as 1 */
  int64_t offset;          /* bytes: planned; as an argument: prescribed, or -1 */
  int64_t inside;          /* index of the buffer that it shares bytes with, or -1 */
  int64_t inside_offset;   /* bytes: where in that */
  const char* name;        /* may be NULL as an argument */
} ashlar_buffer;

typedef struct ashlar_step {
  const char *name, *type;
  const char* kernel; /* "" where nothing runs */
  int64_t live_bytes, scratch_bytes;
} ashlar_step;

typedef int (*ashlar_write_fn)(void* context, const void* bytes, size_t size); /* nonzero stops */

ASHLAR_API ashlar_status ashlar_model_plan(const ashlar_model* model,
                                           const ashlar_plan_options* options,
                                           ashlar_plan** plan); /* options may be NULL */
/* Writes the model in Ashlar's format, and behind it its weights as such a plan on this processor
   wants them. Plans of that file with the same options, whatever their threads, use these where
   they lie: processes share them as pages of the file. Takes memory for them once; replaces `path`
   (.ash) when all is written. */
ASHLAR_API ashlar_status ashlar_model_pack(const ashlar_model* model,
                                           const ashlar_plan_options* options, const char* path);
ASHLAR_API void ashlar_plan_release(ashlar_plan* plan);
ASHLAR_API ashlar_status ashlar_plan_memory(const ashlar_plan* plan, ashlar_memory* memory);
ASHLAR_API ashlar_status ashlar_plan_inputs(const ashlar_plan* plan, const ashlar_tensor** first,
                                            size_t* count);
ASHLAR_API ashlar_status ashlar_plan_outputs(const ashlar_plan* plan, const ashlar_tensor** first,
                                             size_t* count);
ASHLAR_API ashlar_status ashlar_plan_buffers(const ashlar_plan* plan, const ashlar_buffer** first,
                                             size_t* count);
ASHLAR_API ashlar_status ashlar_plan_steps(const ashlar_plan* plan, const ashlar_step** first,
                                           size_t* count);
/* "svg", "csv", "html" (a page of its own that shows the plan) or "json" (what the page shows:
   plan_document in docs/json.schema.json of the sources), as the command writes them. */
ASHLAR_API ashlar_status ashlar_plan_export(const ashlar_plan* plan, const char* format,
                                            ashlar_write_fn write, void* context);
/* Packs the weights now; else the first session does. */
ASHLAR_API ashlar_status ashlar_plan_load(const ashlar_plan* plan);

/* Sessions. */
typedef struct ashlar_session ashlar_session;

typedef struct ashlar_session_options {
  size_t size;
  void* arena; /* the caller's, at a multiple of arena_alignment; NULL: the session's own. Sessions
                  may share one as long as no two run at once, which is refused (ASHLAR_BUSY):
                  nothing in it is kept between runs */
  size_t arena_bytes; /* as long as it is, in bytes: at least the plan's arena */
  void* stream; /* of the caller's, on a device that has them (cudaStream_t; cudaStreamLegacy for
                   the default one), which must outlive the session; NULL: the session's own. Runs
                   are work of this stream like any other: no one has to wait for what is before */
} ashlar_session_options;

ASHLAR_API ashlar_status ashlar_plan_session(const ashlar_plan* plan,
                                             const ashlar_session_options* options,
                                             ashlar_session** session); /* options may be NULL */
ASHLAR_API void ashlar_session_release(ashlar_session* session);

typedef enum ashlar_place { ASHLAR_HOST = 0, ASHLAR_DEVICE = 1 } ashlar_place;

/* The caller's tensor, read or written in place by every run until another is bound. name NULL: the
 * only one. */
ASHLAR_API ashlar_status ashlar_bind_input(ashlar_session* session, const char* name,
                                           const void* data, size_t bytes, ashlar_place place);
ASHLAR_API ashlar_status ashlar_bind_output(ashlar_session* session, const char* name, void* data,
                                            size_t bytes, ashlar_place place);
/* Where the caller writes an input of a plan with release_input, always the same place in the
 * arena, and that the next run finds it there. A run leaves nothing of it: to be called before
 * every run, which else is ASHLAR_NOT_BOUND. In an arena that sessions share it is written after
 * the runs of others. A tensor that is bound instead is copied there by every run.
 * ASHLAR_INVALID_ARGUMENT where the input is not given up. */
ASHLAR_API ashlar_status ashlar_released_input(ashlar_session* session, const char* name,
                                               void** data);
/* From the second run on, no call to the heap or to the system for memory. */
ASHLAR_API ashlar_status ashlar_run(ashlar_session* session);
/* A run in two halves; on the CPU all of it is in the first. Where all tensors are the device's or
 * pinned, the next may be started before the wait. */
ASHLAR_API ashlar_status ashlar_start(ashlar_session* session);
ASHLAR_API ashlar_status ashlar_wait(ashlar_session* session);
/* Events of the caller's, on a device that has them (cudaEvent_t), else ASHLAR_UNSUPPORTED: runs
 * that are started from now on begin after it; it is recorded behind those that were. */
ASHLAR_API ashlar_status ashlar_wait_event(ashlar_session* session, void* event);
ASHLAR_API ashlar_status ashlar_record_event(ashlar_session* session, void* event);

/* Pins memory of the host's for a device ("gpu0:0"), which then copies tensors that are bound in it
 * straight from their places and to them, until the wait; others are copied by the host, inputs
 * while a run is started, outputs in the wait. ASHLAR_INVALID_ARGUMENT where it overlaps memory
 * that is pinned. To be unpinned, by its first byte, before it is freed and when no session is
 * bound to it any more. For "cpu0:0" there is nothing to do. */
ASHLAR_API ashlar_status ashlar_pin(const char* device, void* data, size_t bytes);
ASHLAR_API ashlar_status ashlar_unpin(const char* device, void* data);

/* Training. A step, forward, backward and update, is one run of one plan; what it changes are the
 * model's float weights, kept in a pool of states beside the arena. One thread at a time, or
 * ASHLAR_BUSY. */
typedef struct ashlar_training ashlar_training;

typedef enum ashlar_optimizer {
  ASHLAR_SGD = 0,
  ASHLAR_ADAM = 1,
  ASHLAR_ADAMW = 2
} ashlar_optimizer;

typedef enum ashlar_loss {
  ASHLAR_CROSS_ENTROPY = 0, /* labels: a class an image, I32 {batch} */
  ASHLAR_MEAN_SQUARE = 1    /* labels: as the model's output */
} ashlar_loss;

typedef struct ashlar_training_options {
  size_t size;
  const ashlar_plan_options*
      plan; /* of a step; its shapes say the batch. NULL: as the model has it */
  int32_t optimizer, loss;
  double momentum; /* of SGD; 0: none */
  double weight_decay;
  int32_t nesterov;          /* 1: Nesterov's momentum */
  int32_t frozen_batch_norm; /* 1: by the model's statistics, which stay; 0: by the batch's */
  const char*
      freeze;      /* NULL: none; a regular expression: weights with a match in their name stay */
  int64_t classes; /* 0: the model's; else a new last fully connected layer for so many */
  uint64_t seed;   /* of that layer */
} ashlar_training_options;

/* Takes the memory of a step's arena, states, images and labels; the first evaluation takes an
 * arena of its own, which ashlar_training_memory does not count. Under plan->memory_budget as much
 * is made again on the way back as that asks for, in tiles where nothing else fits;
 * ASHLAR_DOES_NOT_FIT with the bytes of the smallest arena that was found. plan->tile also makes
 * gradients in tiles. The model may be released. plan->share is refused.
 * ASHLAR_UNSUPPORTED, naming the nodes, where operators have no gradient. */
ASHLAR_API ashlar_status ashlar_model_train(const ashlar_model* model,
                                            const ashlar_training_options* options,
                                            ashlar_training** training); /* options may be NULL */
ASHLAR_API void ashlar_training_release(ashlar_training* training);
ASHLAR_API ashlar_status ashlar_training_memory(const ashlar_training* training,
                                                ashlar_memory* memory);
/* Two: the images and the labels of a step. */
ASHLAR_API ashlar_status ashlar_training_inputs(const ashlar_training* training,
                                                const ashlar_tensor** first, size_t* count);
/* One: written by ashlar_training_evaluate, logits or the model's output. */
ASHLAR_API ashlar_status ashlar_training_outputs(const ashlar_training* training,
                                                 const ashlar_tensor** first, size_t* count);
/* Weights, running statistics and the optimizer's own, by name. */
ASHLAR_API ashlar_status ashlar_training_states(const ashlar_training* training,
                                                const ashlar_tensor** first, size_t* count);
/* One step at this learning rate, a finite number; `loss` (may be NULL) is that before it. The
 * tensors are read during the call; their bytes are those of the inputs, or
 * ASHLAR_INVALID_ARGUMENT. From the second step on, no call to the heap. */
ASHLAR_API ashlar_status ashlar_training_step(ashlar_training* training, const void* images,
                                              size_t image_bytes, const void* labels,
                                              size_t label_bytes, double rate, float* loss);
/* The model's output for images, by the states as they are; batch norms by running statistics. */
ASHLAR_API ashlar_status ashlar_training_evaluate(ashlar_training* training, const void* images,
                                                  size_t image_bytes, void* outputs,
                                                  size_t output_bytes);
ASHLAR_API ashlar_status ashlar_training_read(const ashlar_training* training, const char* name,
                                              void* data, size_t bytes);
ASHLAR_API ashlar_status ashlar_training_write(ashlar_training* training, const char* name,
                                               const void* data, size_t bytes);
ASHLAR_API ashlar_status ashlar_training_steps(const ashlar_training* training,
                                               int64_t* steps); /* so far */
/* All states and the number of steps, to go on from with the same bits; the file (.ash) is replaced
 * when all is written. Resuming: ASHLAR_INVALID_ARGUMENT for a checkpoint of other options,
 * ASHLAR_REJECTED_FILE for what is none or is damaged; states are then as they were. */
ASHLAR_API ashlar_status ashlar_training_checkpoint(const ashlar_training* training,
                                                    const char* path);
ASHLAR_API ashlar_status ashlar_training_resume(ashlar_training* training, const char* path);
/* The model with its weights as they are (.ash or .onnx), for the batch that it came with. */
ASHLAR_API ashlar_status ashlar_training_save(const ashlar_training* training, const char* path);

/* The bytes that runs really touch, measured in a session of its own on zeros, with patterns in and
 * behind arena, weights and outputs. Takes the plan's memory once more. */
typedef struct ashlar_measured {
  size_t size;
  int64_t arena, weights, output; /* bytes up to the highest one written; weights are -1 where a
                                     session had them in memory before */
  int64_t
      heap_calls; /* of later runs; -1 where the program has no ashlar_heap_calls() to count them */
  int32_t ok;     /* 1: none is above the plan, and heap_calls is not above 0 */
} ashlar_measured;
ASHLAR_API ashlar_status ashlar_plan_verify(const ashlar_plan* plan, ashlar_measured* measured);

/* The planner alone: sets the offset of every buffer. Deterministic: its work is counted, not
 * timed. */
typedef struct ashlar_solve_options {
  size_t size;
  int64_t work_ms;     /* counted work, about so many milliseconds on a fast core; 0: 250 */
  int64_t capacity;    /* bytes: the first plan that fits is good enough; 0: as few as can be */
  const char* planner; /* NULL: "auto"; as the command's --planner */
  double time_limit;   /* as in ashlar_plan_options, and so the next ones */
  ashlar_progress_fn progress;
  void* progress_context;
} ashlar_solve_options;

typedef struct ashlar_solution {
  size_t size;
  int64_t arena, lower_bound; /* bytes */
  int32_t proof;
} ashlar_solution;

/* ASHLAR_DOES_NOT_FIT where the capacity was not reached: then no offset is set. */
ASHLAR_API ashlar_status
ashlar_solve(ashlar_buffer* buffers, size_t count, const ashlar_solve_options* options,
             ashlar_solution* solution); /* options and solution may be NULL */

#ifdef __cplusplus
}
#endif
#endif /* ASHLAR_ASHLAR_H_ */
