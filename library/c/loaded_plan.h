// Plans whose weights are packed when their first session is created. Plans that share weights are
// packed together.
#ifndef ASHLAR_LIBRARY_C_LOADED_PLAN_H_
#define ASHLAR_LIBRARY_C_LOADED_PLAN_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan/stages/shared_pool.h"
#include "runtime/session/executable.h"

namespace ashlar::c {

// A plan whose weights are loaded later. The caller reads copies of the plan, because packing
// changes the graph.
class LoadedPlan {
 public:
  // Shares with `other`, and with all plans that it shares with, unless it is null. InvalidArgument
  // if the weights of `other` are in memory, or it is on another device.
  static absl::StatusOr<std::unique_ptr<LoadedPlan>> Make(std::unique_ptr<PlannedGraph> planned,
                                                          DoneWith done_with,
                                                          const LoadedPlan* other);
  // For weights that lie in the file. Streamed ones share the window of `other` unless it is null.
  // InvalidArgument if that plan streams none, or its window is in memory and too small.
  static absl::StatusOr<std::unique_ptr<LoadedPlan>> MakePacked(
      std::shared_ptr<const Executable> packed, const LoadedPlan* other);
  ~LoadedPlan();

  // Packs the weights if they are not packed yet. `written` returns the highest byte that packing
  // wrote. It is -1 if the weights were packed before or for several plans, and 0 if the file has
  // them packed.
  absl::StatusOr<std::shared_ptr<const Executable>> Load(int64_t* written = nullptr);

  // Null unless its weights are streamed.
  StreamedWeights* streamed() const { return in_file_ ? executable_->streamed() : nullptr; }

  // Bytes of its weights that the plans it shares with had before it joined.
  int64_t shared_bytes() const { return shared_bytes_; }

 private:
  // Plans that share weights. Plans with weights in memory and released plans are not in it.
  struct Family {
    std::mutex mutex;
    std::vector<LoadedPlan*> waiting;
    std::optional<SharedPool> pool;  // the pool of `waiting`; nothing: to be computed
    bool shared = false;             // there were several plans
    bool packed = false;             // packed, or packing failed
  };

  LoadedPlan() = default;
  absl::Status JoinWindow(const LoadedPlan& other);
  absl::Status Join(std::shared_ptr<Family> family);
  static absl::Status PackTogether(const std::vector<LoadedPlan*>& plans);
  absl::Status PackAlone(bool measure);

  std::shared_ptr<Family> family_;
  std::unique_ptr<PlannedGraph> planned_;  // until it is packed
  DoneWith done_with_;
  std::shared_ptr<const Executable> executable_;
  bool in_file_ = false;
  int64_t shared_bytes_ = 0;
};

}  // namespace ashlar::c

#endif  // ASHLAR_LIBRARY_C_LOADED_PLAN_H_
