// The objects of the C interface's handles.
#ifndef ASHLAR_LIBRARY_C_OBJECTS_H_
#define ASHLAR_LIBRARY_C_OBJECTS_H_

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "library/c/exclusive_use.h"
#include "library/c/loaded_plan.h"
#include "library/include/ashlar/ashlar.h"
#include "library/open_model.h"
#include "library/shape_family.h"
#include "runtime/plan/record/recorded_plan.h"
#include "runtime/session/session.h"
#include "training/training_session.h"
#include "viewer/viewed_plan.h"

struct ashlar_model {
  ashlar::Model model;
  std::optional<ashlar::ModelSource> source;  // of an ONNX model, read again for other shapes
  absl::Span<const uint8_t> bytes;            // the same for a model in memory, the caller's
  std::map<std::string, int64_t> bounds;      // of OpenOptions, for readings to come
  std::map<std::string, std::vector<double>> values;  // the same
  ashlar::FilesInMemory files;                        // the same
  absl::Status needs_shapes;  // the reason why it has no graph before shapes are given

  // Notes about values, of all readings of the file so far. A deque keeps their addresses.
  mutable std::mutex notes_mutex;
  mutable std::deque<std::string> notes;
  // Adds the notes of a reading that are new.
  void AddNotes(const std::vector<std::string>& more) const;

  bool is_onnx() const { return source.has_value() || !bytes.empty(); }

  // The inputs and outputs that the file declares, read at the first request.
  std::once_flag declared_once;
  absl::Status declared;
  std::deque<std::string> names;
  std::vector<ashlar_tensor> inputs, outputs;
};

struct ashlar_plan {
  std::unique_ptr<ashlar::c::LoadedPlan> loaded;
  ashlar::RecordedPlan record;    // owns the names of buffers and steps
  ashlar::ViewedPlan viewed;      // for "json" and "html"
  std::deque<std::string> names;  // of inputs and outputs
  std::vector<ashlar_tensor> inputs, outputs, states;
  std::vector<ashlar_counted> counted;
  std::vector<ashlar_buffer> buffers;
  std::vector<ashlar_step> steps;
  ashlar_memory memory = {};
  std::string tile, passes, more;  // of `choices`
  ashlar_choices choices = {};
};

struct ashlar_family {
  ashlar::ShapeFamily shapes;
  std::vector<std::unique_ptr<ashlar_plan>> plans;  // by point
  std::vector<const ashlar_plan*> listed;           // the same
  ashlar_memory memory = {};
  std::mutex mutex;
  std::shared_ptr<ashlar::DeviceMemory> arena;  // of its sessions, made for the first
};

struct ashlar_session {
  ashlar_session(const void* arena, int64_t bytes) : use("session", arena, bytes) {}
  ashlar::c::ExclusiveUse use;
  std::shared_ptr<const ashlar::Executable> executable;
  std::unique_ptr<ashlar::Session> session;
};

struct ashlar_training {
  mutable ashlar::c::ExclusiveUse use{"training"};
  std::unique_ptr<ashlar::TrainingSession> session;
  std::optional<ashlar::Graph> as_given;  // the model from its file, for its own batch
  ashlar::Model source;                   // the same before its classes were changed
  // FileAxesOf(source), found by the first save. A later one may have replaced the file.
  mutable std::optional<ashlar::FileAxes> axes;
  ashlar::ParameterOptions parameters;
  std::string settings;           // must agree with a checkpoint's
  std::deque<std::string> names;  // of tensors
  std::vector<ashlar_tensor> inputs, outputs, states;
  ashlar_memory memory = {};
};

namespace ashlar::c {

// Describes a tensor for the caller; `names` stores the name.
ashlar_tensor TensorOf(const std::string& name, const TensorType& type,
                       std::deque<std::string>& names);
// Makes a plan, and a session of it in the caller's arena, or else in one of its own or in `arena`.
absl::StatusOr<std::unique_ptr<ashlar_plan>> PlanOf(const ashlar_model& model,
                                                    const ashlar_plan_options& options);
absl::StatusOr<std::unique_ptr<ashlar_session>> SessionOf(const ashlar_plan& plan,
                                                          const ashlar_session_options& options);
absl::StatusOr<std::unique_ptr<ashlar_session>> SessionIn(std::shared_ptr<DeviceMemory> arena,
                                                          const ashlar_plan& plan,
                                                          const ashlar_session_options& options);

// Returns the sizes of a plan without weights in memory, not counting the sharing.
ashlar_memory MemoryOf(const PlannedGraph& planned);

}  // namespace ashlar::c

#endif  // ASHLAR_LIBRARY_C_OBJECTS_H_
