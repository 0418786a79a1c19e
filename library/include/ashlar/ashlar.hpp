// Ashlar for C++17: ashlar.h with owning classes, and exceptions in place of statuses. Header only:
// no type of the standard library crosses the library's interface.
#ifndef ASHLAR_ASHLAR_HPP_
#define ASHLAR_ASHLAR_HPP_

#include <ashlar/ashlar.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ashlar {

struct Error : std::runtime_error {
  Error(ashlar_status s, const char* message, int64_t b)
      : std::runtime_error(message), status(s), bytes(b) {}
  ashlar_status status;
  int64_t bytes;  // for a plan or arena that does not fit: the smallest size that works
};

inline void Check(ashlar_status status) {
  if (status != ASHLAR_OK) throw Error(status, ashlar_error_message(), ashlar_error_bytes());
}

// Returns a struct of ashlar.h with its size set and all other fields zero.
template <typename T>
T Sized() {
  T t = {};
  t.size = sizeof(T);
  return t;
}

// Releases an object by its function of ashlar.h.
template <auto kRelease>
struct Releaser {
  template <typename T>
  void operator()(T* object) const {
    kRelease(object);
  }
};

// An array that belongs to the object that returned it.
template <typename T>
struct List {
  const T* first = nullptr;
  std::size_t count = 0;
  const T* begin() const { return first; }
  const T* end() const { return first + count; }
  std::size_t size() const { return count; }
  const T& operator[](std::size_t i) const { return first[i]; }
};

// A session. It runs a plan, from one thread at a time: calls from a second one throw ASHLAR_BUSY.
class Session {
 public:
  // Binds the caller's tensor of `count` elements, used in place until another is bound. Without a
  // name: the only one.
  template <typename T>
  Session& Input(const T* data, std::size_t count, const char* name = nullptr,
                 ashlar_place place = ASHLAR_HOST) {
    Check(ashlar_bind_input(session_.get(), name, data, count * sizeof(T), place));
    return *this;
  }
  template <typename T>
  Session& Output(T* data, std::size_t count, const char* name = nullptr,
                  ashlar_place place = ASHLAR_HOST) {
    Check(ashlar_bind_output(session_.get(), name, data, count * sizeof(T), place));
    return *this;
  }
  // Returns the address for a donated input (release_input). Call before every run.
  template <typename T>
  T* ReleasedInput(const char* name = nullptr) {
    void* data = nullptr;
    Check(ashlar_released_input(session_.get(), name, &data));
    return static_cast<T*>(data);
  }
  void Run() { Check(ashlar_run(session_.get())); }
  void Start() { Check(ashlar_start(session_.get())); }
  void Wait() { Check(ashlar_wait(session_.get())); }
  // Use the caller's events (cudaEvent_t): runs started from now on begin after `event` of
  // WaitForEvent; RecordEvent records after the runs started so far.
  void WaitForEvent(void* event) { Check(ashlar_wait_event(session_.get(), event)); }
  void RecordEvent(void* event) { Check(ashlar_record_event(session_.get(), event)); }
  // Runs once and returns the milliseconds of each of Plan::Steps.
  std::vector<double> Profile(std::size_t steps) {
    std::vector<double> ms(steps);
    Check(ashlar_session_profile(session_.get(), ms.data(), nullptr, steps));
    return ms;
  }
  // Set all states between runs to their first values; copy one out or in.
  void Reset() { Check(ashlar_session_reset(session_.get())); }
  template <typename T>
  void ReadState(const char* name, T* data, std::size_t count) {
    Check(ashlar_session_read_state(session_.get(), name, data, count * sizeof(T)));
  }
  template <typename T>
  void WriteState(const char* name, const T* data, std::size_t count) {
    Check(ashlar_session_write_state(session_.get(), name, data, count * sizeof(T)));
  }
  ashlar_session* get() const { return session_.get(); }

 private:
  friend class Family;
  friend class Plan;
  explicit Session(ashlar_session* session) : session_(session) {}
  std::unique_ptr<ashlar_session, Releaser<ashlar_session_release>> session_;
};

class Model;

class Plan {
 public:
  ashlar_memory Memory() const {
    ashlar_memory memory = Sized<ashlar_memory>();
    Check(ashlar_plan_memory(plan_.get(), &memory));
    return memory;
  }
  // The options that make this plan again without a search.
  ashlar_choices Choices() const {
    ashlar_choices choices = Sized<ashlar_choices>();
    Check(ashlar_plan_choices(plan_.get(), &choices));
    return choices;
  }
  List<ashlar_tensor> Inputs() const { return Get<ashlar_tensor>(ashlar_plan_inputs); }
  List<ashlar_tensor> Outputs() const { return Get<ashlar_tensor>(ashlar_plan_outputs); }
  // The outputs whose sizes depend on data.
  List<ashlar_counted> Counted() const { return Get<ashlar_counted>(ashlar_plan_counted); }
  // The states between runs, by the names of their inputs.
  List<ashlar_tensor> States() const { return Get<ashlar_tensor>(ashlar_plan_states); }
  List<ashlar_buffer> Buffers() const { return Get<ashlar_buffer>(ashlar_plan_buffers); }
  List<ashlar_step> Steps() const { return Get<ashlar_step>(ashlar_plan_steps); }
  std::string Export(const char* format) const {
    std::string text;
    const ashlar_write_fn append = [](void* to, const void* bytes, std::size_t size) {
      static_cast<std::string*>(to)->append(static_cast<const char*>(bytes), size);
      return 0;
    };
    Check(ashlar_plan_export(plan_.get(), format, append, &text));
    return text;
  }
  // Writes the plan, made of `model`, to a file for ashlar_plan_options::plan_file.
  void Save(const Model& model, const std::string& path) const;
  // Packs the weights now; otherwise the first session does.
  void Load() const { Check(ashlar_plan_load(plan_.get())); }
  ashlar_measured Verify() const {
    ashlar_measured measured = Sized<ashlar_measured>();
    Check(ashlar_plan_verify(plan_.get(), &measured));
    return measured;
  }
  // Returns a session in the caller's arena and stream; by default it has its own.
  Session NewSession(void* arena = nullptr, std::size_t bytes = 0, void* stream = nullptr) const {
    ashlar_session_options options = Sized<ashlar_session_options>();
    options.arena = arena;
    options.arena_bytes = bytes;
    options.stream = stream;
    ashlar_session* session = nullptr;
    Check(ashlar_plan_session(plan_.get(), &options, &session));
    return Session(session);
  }
  const ashlar_plan* get() const { return plan_.get(); }

 private:
  friend class Family;
  friend class Model;
  explicit Plan(ashlar_plan* plan) : plan_(plan, ashlar_plan_release) {}
  explicit Plan(std::shared_ptr<const ashlar_plan> plan) : plan_(std::move(plan)) {}
  template <typename T, typename F>
  List<T> Get(F get) const {
    List<T> list;
    Check(get(plan_.get(), &list.first, &list.count));
    return list;
  }
  std::shared_ptr<const ashlar_plan> plan_;
};

// A model planned at every combination of declared sizes, with one copy of the weights and one
// arena as large as the largest.
class Family {
 public:
  // The largest arena, input and output, and the weights once.
  ashlar_memory Memory() const {
    ashlar_memory memory = Sized<ashlar_memory>();
    Check(ashlar_family_memory(family_.get(), &memory));
    return memory;
  }
  // The plan of each point; the last dimension changes first.
  std::vector<Plan> Plans() const {
    List<const ashlar_plan*> list;
    Check(ashlar_family_plans(family_.get(), &list.first, &list.count));
    std::vector<Plan> plans;
    for (const ashlar_plan* plan : list) {
      plans.push_back(Plan(std::shared_ptr<const ashlar_plan>(family_, plan)));
    }
    return plans;
  }
  // Returns the index of the point with these shapes; if `pad`, of the smallest that holds them.
  std::size_t Point(const std::vector<ashlar_shape>& shapes, bool pad = false) const {
    std::size_t point = 0;
    Check(ashlar_family_point(family_.get(), shapes.data(), shapes.size(), pad ? 1 : 0, &point));
    return point;
  }
  // Returns a session of a point, in the family's arena. One of them runs at a time.
  Session NewSession(std::size_t point) const {
    ashlar_session* session = nullptr;
    Check(ashlar_family_session(family_.get(), point, nullptr, &session));
    return Session(session);
  }
  ashlar_family* get() const { return family_.get(); }

 private:
  friend class Model;
  explicit Family(ashlar_family* family) : family_(family, ashlar_family_release) {}
  std::shared_ptr<ashlar_family> family_;
};

// A training session: each step is one run of one plan. One thread at a time: calls from a second
// one throw ASHLAR_BUSY.
class TrainingSession {
 public:
  ashlar_memory Memory() const {
    ashlar_memory memory = Sized<ashlar_memory>();
    Check(ashlar_training_memory(training_.get(), &memory));
    return memory;
  }
  // Images and labels of a step; the output of Evaluate; weights, statistics and moments.
  List<ashlar_tensor> Inputs() const { return Get(ashlar_training_inputs); }
  List<ashlar_tensor> Outputs() const { return Get(ashlar_training_outputs); }
  List<ashlar_tensor> States() const { return Get(ashlar_training_states); }
  // Runs one step at this learning rate and returns the loss before it.
  template <typename T, typename L>
  float Step(const T* images, std::size_t image_count, const L* labels, std::size_t label_count,
             double rate) {
    float loss = 0;
    Check(ashlar_training_step(training_.get(), images, image_count * sizeof(T), labels,
                               label_count * sizeof(L), rate, &loss));
    return loss;
  }
  template <typename T>
  void Evaluate(const T* images, std::size_t image_count, float* outputs, std::size_t count) {
    Check(ashlar_training_evaluate(training_.get(), images, image_count * sizeof(T), outputs,
                                   count * sizeof(float)));
  }
  template <typename T>
  void Read(const char* state, T* data, std::size_t count) const {
    Check(ashlar_training_read(training_.get(), state, data, count * sizeof(T)));
  }
  template <typename T>
  void Write(const char* state, const T* data, std::size_t count) {
    Check(ashlar_training_write(training_.get(), state, data, count * sizeof(T)));
  }
  int64_t Steps() const {
    int64_t steps = 0;
    Check(ashlar_training_steps(training_.get(), &steps));
    return steps;
  }
  void Checkpoint(const std::string& path) const {
    Check(ashlar_training_checkpoint(training_.get(), path.c_str()));
  }
  void Resume(const std::string& path) {
    Check(ashlar_training_resume(training_.get(), path.c_str()));
  }
  // Writes the model with its current weights, .ash or .onnx.
  void Save(const std::string& path) const {
    Check(ashlar_training_save(training_.get(), path.c_str()));
  }
  ashlar_training* get() const { return training_.get(); }

 private:
  friend class Model;
  explicit TrainingSession(ashlar_training* training) : training_(training) {}
  template <typename F>
  List<ashlar_tensor> Get(F get) const {
    List<ashlar_tensor> list;
    Check(get(training_.get(), &list.first, &list.count));
    return list;
  }
  std::unique_ptr<ashlar_training, Releaser<ashlar_training_release>> training_;
};

class Model {
 public:
  explicit Model(const std::string& path) {
    ashlar_model* model = nullptr;
    Check(ashlar_model_open(path.c_str(), &model));
    model_.reset(model, ashlar_model_release);
  }
  Model(const std::string& path, const ashlar_open_options& options) {
    ashlar_model* model = nullptr;
    Check(ashlar_model_open_with(path.c_str(), &options, &model));
    model_.reset(model, ashlar_model_release);
  }
  // Opens an ONNX model with the most places to plan for, of values whose sizes depend on data.
  Model(const std::string& path, const std::vector<ashlar_bound>& bounds) {
    ashlar_open_options options = Sized<ashlar_open_options>();
    options.bounds = bounds.data();
    options.num_bounds = bounds.size();
    ashlar_model* model = nullptr;
    Check(ashlar_model_open_with(path.c_str(), &options, &model));
    model_.reset(model, ashlar_model_release);
  }
  // Opens a model in memory (ashlar_model_open_bytes). The bytes must outlive everything made from
  // it.
  Model(const void* bytes, std::size_t size) {
    ashlar_model* model = nullptr;
    Check(ashlar_model_open_bytes(bytes, size, &model));
    model_.reset(model, ashlar_model_release);
  }
  // Returns this model followed by `next`, as one model.
  Model Then(const Model& next) const {
    ashlar_model* joined = nullptr;
    Check(ashlar_model_join(get(), next.get(), &joined));
    return Model(joined);
  }
  // Returns this model with bytes {N,H,W,C} for an input (ashlar_model_with_pixels).
  Model WithPixels(const std::string& pixels, const std::vector<ashlar_shape>& shapes = {}) const {
    ashlar_model* converted = nullptr;
    Check(
        ashlar_model_with_pixels(get(), pixels.c_str(), shapes.data(), shapes.size(), &converted));
    return Model(converted);
  }
  // Returns this model with images {N,H,W,C} (ashlar_model_with_channels_last).
  Model WithChannelsLast(const std::vector<ashlar_shape>& shapes = {}) const {
    ashlar_model* converted = nullptr;
    Check(ashlar_model_with_channels_last(get(), shapes.data(), shapes.size(), &converted));
    return Model(converted);
  }
  // Returns this model with outputs kept for the next run: "h_out=h_in c_out=c_in"
  // (ashlar_model_with_states).
  Model WithStates(const std::string& states, const std::vector<ashlar_shape>& shapes = {}) const {
    ashlar_model* converted = nullptr;
    Check(
        ashlar_model_with_states(get(), states.c_str(), shapes.data(), shapes.size(), &converted));
    return Model(converted);
  }
  // Plans every combination of declared sizes: "images=1..8x3x{224,320}x{224,320}".
  Family NewFamily(const std::string& shapes,
                   const ashlar_plan_options& options = Sized<ashlar_plan_options>()) const {
    ashlar_family* family = nullptr;
    Check(ashlar_model_family(get(), shapes.c_str(), &options, &family));
    return Family(family);
  }
  // Returns notes about values that are computed otherwise than the file says.
  std::vector<std::string> Notes() const {
    std::vector<std::string> notes;
    while (const char* note = ashlar_model_note(get(), notes.size())) notes.push_back(note);
    return notes;
  }
  Plan NewPlan(const ashlar_plan_options& options = Sized<ashlar_plan_options>()) const {
    ashlar_plan* plan = nullptr;
    Check(ashlar_model_plan(model_.get(), &options, &plan));
    return Plan(plan);
  }
  TrainingSession Train(
      const ashlar_training_options& options = Sized<ashlar_training_options>()) const {
    ashlar_training* training = nullptr;
    Check(ashlar_model_train(model_.get(), &options, &training));
    return TrainingSession(training);
  }
  // Packs the model: plans of the written file with the same options use its weights in place.
  void Pack(const std::string& path,
            const ashlar_plan_options& options = Sized<ashlar_plan_options>()) const {
    Check(ashlar_model_pack(model_.get(), &options, path.c_str()));
  }
  const ashlar_model* get() const { return model_.get(); }

 private:
  explicit Model(ashlar_model* model) : model_(model, ashlar_model_release) {}
  std::shared_ptr<ashlar_model> model_;
};

inline void Plan::Save(const Model& model, const std::string& path) const {
  Check(ashlar_plan_save(plan_.get(), model.get(), path.c_str()));
}

// Host memory that is pinned for a device while this object lives. It must end after the last
// session that is bound to the memory, and before the memory is freed.
class Pinned {
 public:
  Pinned(const std::string& device, void* data, std::size_t bytes) : data_(data, Unpin{device}) {
    const ashlar_status status = ashlar_pin(device.c_str(), data, bytes);
    if (status != ASHLAR_OK) data_.release();
    Check(status);
  }
  void* data() const { return data_.get(); }

 private:
  struct Unpin {
    std::string device;
    void operator()(void* data) const { ashlar_unpin(device.c_str(), data); }
  };
  std::unique_ptr<void, Unpin> data_;
};

// Locks the pages of code that are used from now on: see ashlar_lock_code.
inline void LockCode(bool everything = false) { Check(ashlar_lock_code(everything ? 1 : 0)); }

// Runs the planner alone: sets the offsets of the buffers.
inline ashlar_solution Solve(std::vector<ashlar_buffer>& buffers,
                             const ashlar_solve_options& options = Sized<ashlar_solve_options>()) {
  ashlar_solution solution = Sized<ashlar_solution>();
  Check(ashlar_solve(buffers.data(), buffers.size(), &options, &solution));
  return solution;
}

}  // namespace ashlar

#endif  // ASHLAR_ASHLAR_HPP_
