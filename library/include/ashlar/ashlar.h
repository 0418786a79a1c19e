/* Ashlar: plans a model's memory to the byte, then runs the model in that memory. C99 or later, and
 * C++.
 *
 * A model is read from a file. A plan fixes kernels, order and addresses; it takes no memory for
 * them. A session runs a plan. Sessions of one plan share its weights.
 *
 * Errors: a function that can fail returns 0 or an ashlar_status. On failure it leaves its outputs
 * unchanged, and ashlar_error_message() of the calling thread returns the reason until this
 * thread's next failure. No function throws, prints, exits, reads the environment, or changes
 * signal handlers or the caller's floating-point settings. One property of the process changes: on
 * a processor with AMX, the first plan with an 8-bit convolution, or a product in bf16, asks the
 * system for its use.
 *
 * Ownership: the caller owns what *_open, *_plan, *_session and *_train create, and releases each
 * object once, in any order; each object keeps alive what it needs. Returned strings and arrays
 * belong to the object that returned them.
 *
 * Threads: several threads may use a model or a plan at once. Only one thread at a time may use a
 * session or training; different ones run side by side. A second thread that calls into the same
 * session or training gets ASHLAR_BUSY. So does a call into a session with an overlapping arena.
 * This keeps results correct. No call waits for another thread. Bindings stay: threads that share a
 * session take a lock around binding and running. A forked child may continue to use what it
 * inherited.
 *
 * Extension: structs begin with their size and are initialised by ASHLAR_INIT. Fields are only ever
 * appended, and zero is the default of each. Values of enumerations never change. */
#ifndef ASHLAR_ASHLAR_H_
#define ASHLAR_ASHLAR_H_

#include <stddef.h>
#include <stdint.h>

#define ASHLAR_VERSION 10000 /* major * 10000 + minor * 100 + patch */
#define ASHLAR_API __attribute__((visibility("default")))
/* Initialises a struct: sets its size, and all other fields to zero. */
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
      2, /* the budget or the available memory is too small; ashlar_error_bytes() would do */
  ASHLAR_REJECTED_FILE = 3, /* unreadable, damaged, or of another kind */
  ASHLAR_UNSUPPORTED = 4,   /* an operator, type or shape without a kernel */
  ASHLAR_UNAVAILABLE = 5,   /* the device or its library is missing */
  ASHLAR_NOT_BOUND = 6,     /* a run without all inputs and outputs */
  ASHLAR_INTERNAL = 7,
  ASHLAR_BUSY = 8,        /* another thread is using the session, training or arena */
  ASHLAR_CANCELLED = 9,   /* by the caller's progress function */
  ASHLAR_OUT_OF_TIME = 10 /* planning took longer than time_limit */
} ashlar_status;

ASHLAR_API int ashlar_version(void); /* version of the library; ASHLAR_VERSION is the header's */
ASHLAR_API const char* ashlar_error_message(void);
ASHLAR_API int64_t
ashlar_error_bytes(void); /* the smallest size that works, after ASHLAR_DOES_NOT_FIT; 0: unknown */

/* Receives notes for the user ("packing anew, as ..."), from any thread, never during a run. */
typedef void (*ashlar_log_fn)(void* context, const char* line);
ASHLAR_API void ashlar_set_log(ashlar_log_fn log, void* context); /* NULL, the default: silence */

/* Models: Ashlar's own files, ONNX (.onnx) and TensorFlow Lite (.tflite). The file is mapped and
 * must not shrink while it is in use. Opening and planning load bytes before they read them: a disk
 * that fails is ASHLAR_REJECTED_FILE (since Linux 5.14). Runs read the mapping only for packed
 * weights that are used in the file, and then raise SIGBUS if the disk fails or the file shrinks. A
 * host that must survive that plans with "weights-budget=SIZE" in ashlar_plan_options.more: runs
 * return ASHLAR_REJECTED_FILE, and succeed again when the file is right. If SIZE is enough for all
 * weights (ashlar_memory.weights_in_file), the first session reads them into memory, and runs need
 * no file. */
typedef struct ashlar_model ashlar_model;
ASHLAR_API ashlar_status ashlar_model_open(const char* path, ashlar_model** model);
/* Opens a model in memory. The bytes must outlive everything made from the model. They are either
 * an ONNX file that contains all its weights (or names files of ashlar_open_options), a TensorFlow
 * Lite file, or a model in Ashlar's format, at a multiple of 64. The checksums of the latter are
 * not verified, unlike a file's. */
ASHLAR_API ashlar_status ashlar_model_open_bytes(const void* bytes, size_t size,
                                                 ashlar_model** model);

typedef struct ashlar_bound { /* the most places to plan for, of a value whose size depends on data
                               */
  const char* name;           /* of the value or its node in the ONNX file */
  int64_t most;               /* more in a run is an error that names the node */
} ashlar_bound;

typedef struct ashlar_input_value { /* an input that becomes a constant, such as a sampling rate */
  const char* input;
  const double* numbers; /* one for each element */
  size_t num_numbers;
} ashlar_input_value;

typedef struct ashlar_file { /* external data of an ONNX model, in memory; read in place */
  const char* name;          /* the location that the model's tensors have for it */
  const void* bytes;
  size_t bytes_size;
  void (*release)(void* context); /* called once, when nothing reads the bytes any more or opening
                                     fails, from any thread; NULL: they outlive everything made
                                     from the model */
  void* context;
} ashlar_file;

typedef struct ashlar_open_options {
  size_t size;
  const ashlar_bound* bounds; /* of an ONNX model; an unknown name is an error of planning */
  size_t num_bounds;
  const ashlar_file* files; /* of an ONNX model in memory */
  size_t num_files;
  const ashlar_input_value* values; /* of an ONNX model */
  size_t num_values;
} ashlar_open_options;

/* The same with options, which may be NULL. */
ASHLAR_API ashlar_status ashlar_model_open_with(const char* path,
                                                const ashlar_open_options* options,
                                                ashlar_model** model);
ASHLAR_API ashlar_status ashlar_model_open_bytes_with(const void* bytes, size_t size,
                                                      const ashlar_open_options* options,
                                                      ashlar_model** model);
/* Joins the models of a pipeline into one. Inputs of `second` read the outputs of `first` with the
 * same names; a single input reads a single output. Both models may be released before the joined
 * one. Returns ASHLAR_INVALID_ARGUMENT if no output matches. Models that never run at once can
 * share an arena instead: ashlar_session_options. */
ASHLAR_API ashlar_status ashlar_model_join(const ashlar_model* first, const ashlar_model* second,
                                           ashlar_model** joined);
/* Returns a note about values of the model that are computed otherwise than its file says, such as
 * "double is computed as Float32 by Add"; NULL from the number of notes on. Notes of a model that
 * needs shapes are there after its first plan. A note lives as long as the model. */
ASHLAR_API const char* ashlar_model_note(const ashlar_model* model, size_t index);
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
                            ASHLAR_F64 = 9,
                            ASHLAR_U16 = 13,
                            ASHLAR_I16 = 14,
                            ASHLAR_U32 = 15,
                            ASHLAR_U64 = 16
} ashlar_dtype;

#define ASHLAR_MAX_RANK 8

typedef struct ashlar_tensor { /* row-major, dense */
  const char* name;
  int32_t dtype, rank;
  int64_t shape[ASHLAR_MAX_RANK];
  int64_t bytes;
} ashlar_tensor;

/* Lists the inputs or outputs that the file declares, before a plan. An open dimension is -1, and
 * `bytes` is then 0. rank is -1 if the file declares no shape. */
ASHLAR_API ashlar_status ashlar_model_inputs(const ashlar_model* model, const ashlar_tensor** first,
                                             size_t* count);
ASHLAR_API ashlar_status ashlar_model_outputs(const ashlar_model* model,
                                              const ashlar_tensor** first, size_t* count);

typedef struct ashlar_shape {
  const char* input;
  int32_t rank;
  int64_t shape[ASHLAR_MAX_RANK];
} ashlar_shape;

/* Makes a model that takes pixels as cameras and decoders give them: an input of floats {N,C,H,W}
 * becomes bytes {N,H,W,C} of the same name, and the model itself scales, orders and normalises
 * them. `pixels` is "[NAME=]PART,...", with PARTs 480x640 (height and width), rgb, bgr, imagenet,
 * mean:R/G/B and scale:R/G/B: (x - mean) * scale. With nv12, nv21, i420 or yv12 the input becomes
 * bytes {N,H*3/2,W}, of bt601 (default) or bt709, limited (default) or full. `shapes` are other
 * shapes of the model's inputs, before; it may be NULL. The model may be released before the new
 * one. */
ASHLAR_API ashlar_status ashlar_model_with_pixels(const ashlar_model* model, const char* pixels,
                                                  const ashlar_shape* shapes, size_t num_shapes,
                                                  ashlar_model** converted);

/* Makes a model of images {N,H,W,C}: its inputs and outputs of four dimensions {N,C,H,W} have their
 * channels last. A TensorFlow Lite model has them last already, and the new one is the same.
 * Returns ASHLAR_INVALID_ARGUMENT if nothing has four dimensions. `shapes` are as above. */
ASHLAR_API ashlar_status ashlar_model_with_channels_last(const ashlar_model* model,
                                                         const ashlar_shape* shapes,
                                                         size_t num_shapes,
                                                         ashlar_model** converted);

typedef struct ashlar_progress { /* of planning, so far */
  size_t size;                   /* of this struct, in the library's version */
  double seconds;
  int64_t plans;       /* plans made so far; searches under a memory budget make many */
  int64_t least_arena; /* bytes, the smallest of these plans; 0: no plan yet */
} ashlar_progress;

/* Makes a model with state between runs: `states` is "OUTPUT=INPUT" for each state, separated by
 * spaces. The output becomes the input of the next run; at first it is zeros. The inputs are inputs
 * no more, and neither are the outputs outputs, unless no other is left. Each session has its own
 * states, in memory beside the arena (ashlar_memory.state), and computes them there without a copy
 * if nothing reads the old value afterwards. Output and input must have one type, otherwise
 * ASHLAR_INVALID_ARGUMENT names both. `shapes` are as above. */
ASHLAR_API ashlar_status ashlar_model_with_states(const ashlar_model* model, const char* states,
                                                  const ashlar_shape* shapes, size_t num_shapes,
                                                  ashlar_model** converted);

/* Called about every 20 ms in the thread that waits for a plan; a nonzero result ends planning. */
typedef int (*ashlar_progress_fn)(void* context, const ashlar_progress* progress);

#define ASHLAR_LEAST (-1) /* as a memory budget: as few bytes as possible */

typedef struct ashlar_plan_options {
  size_t size;
  int32_t threads;           /* 0: all that this process may use */
  int32_t prefer_memory;     /* 1: kernels with the least workspace and weights */
  int32_t exact;             /* 1: no kernel that rounds differently from a plain sum (Winograd) */
  int64_t memory_budget;     /* of the arena, bytes; 0: none; or ASHLAR_LEAST */
  double max_extra_flops;    /* under a budget, the largest ratio of recomputed operations; 0: no
                                limit, negative: none */
  const char* device;        /* NULL: "cpu0:0" */
  const char* tile;          /* as the command's --tile; NULL: the tiles in kernel_record, if any */
  const char* precision;     /* NULL: "fp32"; "fp16" and "bf16" if the device has them */
  const char* kernel_record; /* NULL: none; a file of measured kernels, written by `ashlar tune` */
  const ashlar_shape* shapes; /* other shapes for inputs */
  size_t num_shapes;
  const struct ashlar_plan* share; /* a plan whose weights are not in memory yet: weights that both
                                      plans use in the same form are then stored once. It may be
                                      released. If both stream their weights, their runs take turns
                                      in one window, of any models */
  int32_t release_input; /* 1: inputs are donated: they lie in the arena, and their rows are
                            overwritten after they are read (ashlar_released_input). On the CPU */
  double time_limit; /* seconds that planning may take; 0: no limit. It never changes the plan: if
                        it is exceeded, no plan is returned (ASHLAR_OUT_OF_TIME) */
  ashlar_progress_fn progress; /* NULL: none. If it returns nonzero, no plan is returned
                                  (ASHLAR_CANCELLED). With it or a time limit, planning runs in a
                                  separate thread */
  void* progress_context;
  const char* passes;    /* as the command's --passes; NULL: all */
  const char* more;      /* NULL: none; other planning options of the command, separated by spaces:
                            "planner=exact scheduler=megengine inplace=off align=256". An option with a
                            field of its own must agree with it */
  const char* plan_file; /* NULL: none; a plan of this model, stored by ashlar_plan_save or by the
                            command (`plan -o FILE.plan`), that is used without a search. Only
                            shapes, share, time_limit and progress may be set beside it, and threads
                            and device if they are the plan's */
} ashlar_plan_options;

/* Plans. All of the following is known before memory is taken. */
typedef struct ashlar_plan ashlar_plan;

typedef enum ashlar_proof {
  ASHLAR_GAP = 0,              /* a smaller plan may exist */
  ASHLAR_OPTIMAL = 1,          /* the arena equals the lower bound */
  ASHLAR_OPTIMAL_BY_SEARCH = 2 /* an exhaustive search found no smaller arena */
} ashlar_proof;

typedef struct ashlar_memory { /* bytes */
  size_t size;
  int64_t arena, arena_alignment; /* of one session */
  int64_t input, output;          /* the caller's tensors, without donated inputs */
  int64_t weights;                /* shared by all sessions */
  int64_t weights_in_file;        /* part of `weights` that is used directly from a packed file */
  int64_t lower_bound;            /* of the arena, for these kernels in this order */
  int32_t proof, bottleneck_step;
  double predicted_ms;    /* of one run, with reads of streamed weights */
  int64_t weights_shared; /* part of `weights` that other plans hold (`share`) */
  int64_t state;          /* kept from run to run; of a training: parameters, statistics, moments */
  int64_t released_input; /* part of `arena` that donated inputs occupy before a run */
  int64_t total; /* estimate for the process, without the program itself: arena, weights, input,
                    output, packing, and the plan */
  int64_t total_without_budget; /* the same of the plan without memory_budget; 0: unknown, or no
                                   budget. If it is less than `total`, the smaller arena takes more
                                   memory in all */
} ashlar_memory;

/* The options of ashlar_plan_options that make a plan again without a search. */
typedef struct ashlar_choices {
  size_t size;
  const char* tile;      /* "none" if the plan is not tiled */
  const char* passes;    /* "all" if the plan has all */
  int32_t prefer_memory; /* for kernels that the search chose, too */
  const char* more;      /* other planning options of the plan that are not the default, such as
                            "align=256 inplace=off"; "" if none */
} ashlar_choices;

/* An output whose size depends on data: its first places along `axis` are valid, as many as the
 * output `count` (ASHLAR_I64, rank 0) says after a run. The others are fill. */
typedef struct ashlar_counted {
  int32_t output, count; /* indices into ashlar_plan_outputs */
  int32_t axis;
} ashlar_counted;

typedef struct ashlar_buffer { /* live in steps [lower, upper) */
  int64_t id, lower, upper;
  int64_t size, alignment; /* bytes; alignment 0 is as good as 1 */
  int64_t offset;          /* bytes: planned; in an argument: prescribed, or -1 */
  int64_t inside;          /* index of the buffer that contains this one, or -1 */
  int64_t inside_offset;   /* bytes: offset in the containing buffer */
  const char* name;        /* may be NULL in an argument */
} ashlar_buffer;

typedef struct ashlar_step {
  const char *name, *type;
  const char* kernel; /* "" if no kernel runs */
  int64_t live_bytes, scratch_bytes;
} ashlar_step;

typedef int (*ashlar_write_fn)(void* context, const void* bytes, size_t size); /* a nonzero result
                                                                                  stops writing */

/* The names that `more` takes: "planner"; NULL from the number of names on. For bindings. */
ASHLAR_API const char* ashlar_plan_option_name(size_t index);
ASHLAR_API ashlar_status ashlar_model_plan(const ashlar_model* model,
                                           const ashlar_plan_options* options,
                                           ashlar_plan** plan); /* options may be NULL */
/* Writes the model in Ashlar's format, followed by its weights in the layout that such a plan on
   this processor uses. Plans of that file with the same options (threads may differ) use these
   weights directly; processes share them as pages of the file. Takes memory for the weights once.
   Replaces `path` (.ash) after everything is written. */
ASHLAR_API ashlar_status ashlar_model_pack(const ashlar_model* model,
                                           const ashlar_plan_options* options, const char* path);
ASHLAR_API void ashlar_plan_release(ashlar_plan* plan);
ASHLAR_API ashlar_status ashlar_plan_memory(const ashlar_plan* plan, ashlar_memory* memory);
/* The texts live as long as the plan. */
ASHLAR_API ashlar_status ashlar_plan_choices(const ashlar_plan* plan, ashlar_choices* choices);
ASHLAR_API ashlar_status ashlar_plan_inputs(const ashlar_plan* plan, const ashlar_tensor** first,
                                            size_t* count);
ASHLAR_API ashlar_status ashlar_plan_outputs(const ashlar_plan* plan, const ashlar_tensor** first,
                                             size_t* count);
ASHLAR_API ashlar_status ashlar_plan_counted(const ashlar_plan* plan, const ashlar_counted** first,
                                             size_t* count);
ASHLAR_API ashlar_status ashlar_plan_buffers(const ashlar_plan* plan, const ashlar_buffer** first,
                                             size_t* count);
ASHLAR_API ashlar_status ashlar_plan_steps(const ashlar_plan* plan, const ashlar_step** first,
                                           size_t* count);
/* Writes the plan as the command does. `format`: "svg", "csv", "html" (a self-contained page that
   shows the plan), "json" (the page's data: plan_document in docs/json.schema.json of the sources),
   "c" or "c:NAME": a program in C99 for microcontrollers, in one file, if the plan's device is
   "mcu0:0" (docs/microcontrollers.md). NAME is the program's; default: the
   model's. */
ASHLAR_API ashlar_status ashlar_plan_export(const ashlar_plan* plan, const char* format,
                                            ashlar_write_fn write, void* context);
/* Writes the plan, made of `model`, to a file for `plan_file` and the command's --plan. */
ASHLAR_API ashlar_status ashlar_plan_save(const ashlar_plan* plan, const ashlar_model* model,
                                          const char* path);
/* Packs the weights now; otherwise the first session does. */
ASHLAR_API ashlar_status ashlar_plan_load(const ashlar_plan* plan);

/* Sessions. */
typedef struct ashlar_session ashlar_session;

typedef struct ashlar_session_options {
  size_t size;
  void* arena; /* the caller's, at a multiple of arena_alignment; NULL: the session's own. Sessions
                  may share an arena, as it keeps nothing between runs; two runs at once are refused
                  (ASHLAR_BUSY) */
  size_t arena_bytes; /* size of the caller's arena in bytes: at least the plan's arena */
  void* stream; /* the caller's, on a device that has streams (cudaStream_t; cudaStreamLegacy for
                   the default one); must outlive the session. NULL: the session's own. Runs are
                   ordered in this stream like other work; the caller need not wait for earlier work
                   */
} ashlar_session_options;

ASHLAR_API ashlar_status ashlar_plan_session(const ashlar_plan* plan,
                                             const ashlar_session_options* options,
                                             ashlar_session** session); /* options may be NULL */
ASHLAR_API void ashlar_session_release(ashlar_session* session);

typedef enum ashlar_place { ASHLAR_HOST = 0, ASHLAR_DEVICE = 1 } ashlar_place;

/* Binds the caller's tensor. Every run reads or writes it in place until another one is bound. name
 * NULL: the only input or output. */
ASHLAR_API ashlar_status ashlar_bind_input(ashlar_session* session, const char* name,
                                           const void* data, size_t bytes, ashlar_place place);
ASHLAR_API ashlar_status ashlar_bind_output(ashlar_session* session, const char* name, void* data,
                                            size_t bytes, ashlar_place place);
/* Returns the address in the arena of a donated input (a plan with release_input); it is always the
 * same. The next run reads the input there, and overwrites it. Call this before every run;
 * otherwise the run returns ASHLAR_NOT_BOUND. If sessions share the arena, write the input after
 * the runs of the others. If a tensor is bound instead, every run copies it there. Returns
 * ASHLAR_INVALID_ARGUMENT if the input is not donated. */
ASHLAR_API ashlar_status ashlar_released_input(ashlar_session* session, const char* name,
                                               void** data);
/* Runs the plan. From the second run on, it calls neither the heap nor the system for memory. */
ASHLAR_API ashlar_status ashlar_run(ashlar_session* session);
/* Start and finish a run; on the CPU, ashlar_start does all the work. If all tensors are in device
 * or pinned memory, the next run may be started before ashlar_wait. */
ASHLAR_API ashlar_status ashlar_start(ashlar_session* session);
ASHLAR_API ashlar_status ashlar_wait(ashlar_session* session);
/* Runs the plan once, and writes the milliseconds that each step took, and unless NULL the ones
 * expected when it was planned, in the order of ashlar_plan_steps, both without waiting for
 * streamed weights. `steps` is their number. */
ASHLAR_API ashlar_status ashlar_session_profile(ashlar_session* session, double* ms,
                                                double* expected_ms, size_t steps);
/* Lists the states of a plan, by the names of their inputs. */
ASHLAR_API ashlar_status ashlar_plan_states(const ashlar_plan* plan, const ashlar_tensor** first,
                                            size_t* count);
/* Set all states of a session to their first values; copy one out or in between runs. `bytes` must
 * be the state's. */
ASHLAR_API ashlar_status ashlar_session_reset(ashlar_session* session);
ASHLAR_API ashlar_status ashlar_session_read_state(ashlar_session* session, const char* name,
                                                   void* data, size_t bytes);
ASHLAR_API ashlar_status ashlar_session_write_state(ashlar_session* session, const char* name,
                                                    const void* data, size_t bytes);
/* Use the caller's events, on a device that has them (cudaEvent_t); otherwise ASHLAR_UNSUPPORTED.
 * Runs started after ashlar_wait_event begin after the event. ashlar_record_event records the event
 * after the runs started so far. */
ASHLAR_API ashlar_status ashlar_wait_event(ashlar_session* session, void* event);
ASHLAR_API ashlar_status ashlar_record_event(ashlar_session* session, void* event);

/* Pins host memory for a device ("gpu0:0"). The device copies tensors bound in this memory
 * directly, until ashlar_wait returns. The host copies all others: inputs in ashlar_start, outputs
 * in ashlar_wait. Returns ASHLAR_INVALID_ARGUMENT if the memory overlaps pinned memory. Unpin
 * memory by its first byte, before it is freed and after the last session bound to it is released.
 * For "cpu0:0" both do nothing. */
ASHLAR_API ashlar_status ashlar_pin(const char* device, void* data, size_t bytes);
ASHLAR_API ashlar_status ashlar_unpin(const char* device, void* data);

/* Families of shapes: plans of one model at every combination of declared sizes, with one copy of
 * the weights and one arena as large as the largest. `shapes` is "NAME=SIZESxSIZES..." for each
 * input that varies, separated by spaces; SIZES is a number, a range 1..8, or a list {224,320}:
 * "images=1..8x3x{224,320}x{224,320}". At most 1024 points; ASHLAR_INVALID_ARGUMENT names the
 * count, or a range without members. If several inputs vary, combinations that the model refuses
 * are left out. A memory_budget holds for each point; share and plan_file are refused. Several
 * threads may use a family at once. */
typedef struct ashlar_family ashlar_family;
ASHLAR_API ashlar_status ashlar_model_family(const ashlar_model* model, const char* shapes,
                                             const ashlar_plan_options* options,
                                             ashlar_family** family); /* options may be NULL */
ASHLAR_API void ashlar_family_release(ashlar_family* family);
/* Lists the plan of each point, in ascending order of the sizes; the last dimension changes first.
 * The plans belong to the family. */
ASHLAR_API ashlar_status ashlar_family_plans(const ashlar_family* family,
                                             const ashlar_plan* const** first, size_t* count);
/* The bytes of the family: the largest arena, input and output, and the weights once. */
ASHLAR_API ashlar_status ashlar_family_memory(const ashlar_family* family, ashlar_memory* memory);
/* Returns the index of the point with these shapes of the declared inputs; if `pad` is 1, of the
 * one with the fewest elements that holds them. ASHLAR_INVALID_ARGUMENT lists the declared sizes.
 */
ASHLAR_API ashlar_status ashlar_family_point(const ashlar_family* family,
                                             const ashlar_shape* shapes, size_t num_shapes,
                                             int32_t pad, size_t* point);
/* Makes a session of one point, in the family's arena unless options give another. The sessions of
 * all points may exist at once; one runs at a time, otherwise ASHLAR_BUSY. Changing from one to
 * another takes nothing. A session may outlive the family. */
ASHLAR_API ashlar_status ashlar_family_session(ashlar_family* family, size_t point,
                                               const ashlar_session_options* options,
                                               ashlar_session** session);

/* Training. A step (forward, backward and update) is one run of one plan. It changes the model's
 * float weights, which lie in a pool of states beside the arena. One thread at a time; otherwise
 * ASHLAR_BUSY. */
typedef struct ashlar_training ashlar_training;

typedef enum ashlar_optimizer {
  ASHLAR_SGD = 0,
  ASHLAR_ADAM = 1,
  ASHLAR_ADAMW = 2
} ashlar_optimizer;

typedef enum ashlar_loss {
  ASHLAR_CROSS_ENTROPY = 0, /* labels: one class for each image, I32 {batch} */
  ASHLAR_MEAN_SQUARE = 1    /* labels: same shape as the model's output */
} ashlar_loss;

typedef struct ashlar_training_options {
  size_t size;
  const ashlar_plan_options* plan; /* of a step; its shapes set the batch. NULL: the model's own */
  int32_t optimizer, loss;
  double momentum; /* for SGD; 0: none */
  double weight_decay;
  int32_t nesterov;          /* 1: Nesterov's momentum */
  int32_t frozen_batch_norm; /* 1: use the model's statistics, unchanged; 0: the batch's */
  const char*
      freeze;      /* NULL: none; a regular expression: weights whose names match are not trained */
  int64_t classes; /* 0: the model's; otherwise a new last fully connected layer with so many
                      classes */
  uint64_t seed;   /* for the initial weights of that layer */
} ashlar_training_options;

/* Takes the memory for the arena of a step, states, images and labels. The first evaluation takes
 * an arena of its own, which ashlar_training_memory does not count. Under plan->memory_budget, the
 * backward pass recomputes as much as the budget requires, and runs in tiles if nothing else fits.
 * If no plan fits, returns ASHLAR_DOES_NOT_FIT with the bytes of the smallest arena found.
 * plan->tile also tiles gradients. The model may be released. plan->share is refused. Returns
 * ASHLAR_UNSUPPORTED, naming the nodes, if operators have no gradient. */
ASHLAR_API ashlar_status ashlar_model_train(const ashlar_model* model,
                                            const ashlar_training_options* options,
                                            ashlar_training** training); /* options may be NULL */
ASHLAR_API void ashlar_training_release(ashlar_training* training);
ASHLAR_API ashlar_status ashlar_training_memory(const ashlar_training* training,
                                                ashlar_memory* memory);
/* Lists two tensors: the images and the labels of a step. */
ASHLAR_API ashlar_status ashlar_training_inputs(const ashlar_training* training,
                                                const ashlar_tensor** first, size_t* count);
/* Lists one tensor, which ashlar_training_evaluate writes: logits or the model's output. */
ASHLAR_API ashlar_status ashlar_training_outputs(const ashlar_training* training,
                                                 const ashlar_tensor** first, size_t* count);
/* Lists weights, running statistics and the optimizer's states, by name. */
ASHLAR_API ashlar_status ashlar_training_states(const ashlar_training* training,
                                                const ashlar_tensor** first, size_t* count);
/* Runs one step at this learning rate, a finite number; `loss` (may be NULL) is the loss before the
 * step. The tensors are read during the call; their bytes must equal the inputs', otherwise
 * ASHLAR_INVALID_ARGUMENT. From the second step on, it does not call the heap. */
ASHLAR_API ashlar_status ashlar_training_step(ashlar_training* training, const void* images,
                                              size_t image_bytes, const void* labels,
                                              size_t label_bytes, double rate, float* loss);
/* Computes the model's output for images, with the current states; batch norms use running
 * statistics. */
ASHLAR_API ashlar_status ashlar_training_evaluate(ashlar_training* training, const void* images,
                                                  size_t image_bytes, void* outputs,
                                                  size_t output_bytes);
ASHLAR_API ashlar_status ashlar_training_read(const ashlar_training* training, const char* name,
                                              void* data, size_t bytes);
ASHLAR_API ashlar_status ashlar_training_write(ashlar_training* training, const char* name,
                                               const void* data, size_t bytes);
ASHLAR_API ashlar_status ashlar_training_steps(const ashlar_training* training,
                                               int64_t* steps); /* so far */
/* Write and read all states and the number of steps; a resumed training continues with the same
 * bits. The file (.ash) is replaced after everything is written. Resuming returns
 * ASHLAR_INVALID_ARGUMENT for a checkpoint of other options, and ASHLAR_REJECTED_FILE for a damaged
 * file or none of this kind; the states then stay unchanged. */
ASHLAR_API ashlar_status ashlar_training_checkpoint(const ashlar_training* training,
                                                    const char* path);
ASHLAR_API ashlar_status ashlar_training_resume(ashlar_training* training, const char* path);
/* Writes the model with its current weights (.ash or .onnx), for its original batch. */
ASHLAR_API ashlar_status ashlar_training_save(const ashlar_training* training, const char* path);

/* The bytes that runs really touch, measured in a separate session on zeros, with guard patterns in
 * and after arena, weights and outputs. Takes the plan's memory once more, except for the window of
 * streamed weights: no plan that shares it may run meanwhile. */
typedef struct ashlar_measured {
  size_t size;
  int64_t arena, weights, output; /* bytes up to the highest one written; weights are -1 if a
                                     session had packed them before, 0 if a file has them packed;
                                     of streamed ones: in the window */
  int64_t
      heap_calls; /* of later runs; -1 if the program has no ashlar_heap_calls() to count them */
  int32_t ok;     /* 1: no value exceeds the plan, and heap_calls is not above 0 */
} ashlar_measured;
ASHLAR_API ashlar_status ashlar_plan_verify(const ashlar_plan* plan, ashlar_measured* measured);

/* Drops the pages of this library's code from memory, and locks the ones that are used again, as
 * they return (mlock2). With everything = 1, the same for the program and all its libraries. For
 * programs in a memory control group that streamed weights nearly fill: otherwise the group drops
 * code in each run, and reads it again. Call it after planning, before the first run. Nothing else
 * locks memory. Returns ASHLAR_UNAVAILABLE if the process may not lock all of it (RLIMIT_MEMLOCK):
 * the rest is used as before. */
ASHLAR_API ashlar_status ashlar_lock_code(int32_t everything);

/* Runs the planner alone: sets the offset of every buffer. Deterministic: its work is counted, not
 * timed. */
typedef struct ashlar_solve_options {
  size_t size;
  int64_t work_ms;     /* counted work, roughly milliseconds on a fast core; 0: 250 */
  int64_t capacity;    /* bytes: stop at the first plan that fits; 0: as few as possible */
  const char* planner; /* NULL: "auto"; otherwise as the command's --planner */
  double time_limit;   /* as in ashlar_plan_options, like the next two */
  ashlar_progress_fn progress;
  void* progress_context;
} ashlar_solve_options;

typedef struct ashlar_solution {
  size_t size;
  int64_t arena, lower_bound; /* bytes */
  int32_t proof;
} ashlar_solution;

/* Returns ASHLAR_DOES_NOT_FIT, and sets no offset, if the plan exceeds the capacity. */
ASHLAR_API ashlar_status
ashlar_solve(ashlar_buffer* buffers, size_t count, const ashlar_solve_options* options,
             ashlar_solution* solution); /* options and solution may be NULL */

#ifdef __cplusplus
}
#endif
#endif /* ASHLAR_ASHLAR_H_ */
