// What the handles of the C interface stand for.
#ifndef ASHLAR_LIBRARY_C_OBJECTS_H_
#define ASHLAR_LIBRARY_C_OBJECTS_H_

#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "library/include/ashlar/ashlar.h"
#include "library/model.h"
#include "runtime/plan/recorded_plan.h"
#include "runtime/session/session.h"

namespace ashlar::c {

// A plan, packed when its first session comes up. What the caller reads of it are copies made when
// it was planned: packing changes the graph.
class LoadedPlan {
 public:
  LoadedPlan(std::unique_ptr<PlannedGraph> planned, DoneWith done_with)
      : planned_(std::move(planned)), done_with_(std::move(done_with)) {}
  explicit LoadedPlan(std::shared_ptr<const Executable> packed)
      : executable_(std::move(packed)), in_file_(true) {}

  // Packs where that was not done yet. `written`: the highest byte that packing wrote, where the
  // caller wants it measured; -1 where that is too late, 0 where the file has the weights packed.
  absl::StatusOr<std::shared_ptr<const Executable>> Load(int64_t* written = nullptr);

 private:
  std::mutex mutex_;
  std::unique_ptr<PlannedGraph> planned_;  // until it is packed
  DoneWith done_with_;
  std::shared_ptr<const Executable> executable_;
  const bool in_file_ = false;
};

}  // namespace ashlar::c

struct ashlar_model {
  ashlar::Model model;
  std::string path;           // of an ONNX model, which is read anew for other shapes; else empty
  absl::Status needs_shapes;  // why it has no graph before shapes are given
};

struct ashlar_plan {
  std::unique_ptr<ashlar::c::LoadedPlan> loaded;
  ashlar::RecordedPlan record;    // owns the names of buffers and steps
  std::deque<std::string> names;  // of inputs and outputs
  std::vector<ashlar_tensor> inputs, outputs;
  std::vector<ashlar_buffer> buffers;
  std::vector<ashlar_step> steps;
  ashlar_memory memory = {};
};

struct ashlar_session {
  std::shared_ptr<const ashlar::Executable> executable;
  std::unique_ptr<ashlar::Session> session;
};

#endif  // ASHLAR_LIBRARY_C_OBJECTS_H_
